/** Skills of a folder. Requires the package yaml: npm install yaml. */
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, extname, join, relative } from "node:path/posix";
import { parse } from "yaml";
import type { Resource } from "./content.js";
import { Failure, messageOf } from "./failure.js";
import { directoryType, type ResourceProvider, type Skill, type SkillFile, uriPrefix } from "./providers.js";
import { bytesContents, type ReadOutput } from "./resources.js";
import { type Logger, stderrLogger } from "./run.js";

/** The maximum number of files and directories of a skill folder. */
export const maxSkillEntries = 10_000;
/** The maximum size of one file, which must fit in a message. */
export const maxSkillFileBytes = 15 << 20;

const skillFile = "SKILL.md";

/** MIME types of common files of skills, independent of the machine. */
const types: Record<string, string> = {
  ".md": "text/markdown",
  ".txt": "text/plain",
  ".html": "text/html",
  ".css": "text/css",
  ".csv": "text/csv",
  ".json": "application/json",
  ".yaml": "application/yaml",
  ".yml": "application/yaml",
  ".xml": "application/xml",
  ".py": "text/x-python",
  ".sh": "application/x-sh",
  ".js": "text/javascript",
  ".ts": "text/typescript",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".svg": "image/svg+xml",
  ".pdf": "application/pdf",
};

/**
 * Serves the skills of a directory: each directory with a SKILL.md is one, at any depth, with all files below it. Names
 * with a leading dot, and links, are ignored. Each request reads changed files; digests are cached by size and time.
 */
export class SkillFolder implements Required<Omit<ResourceProvider, "watch">> {
  readonly #digests = new Map<string, { size: number; modified: number; sha256: Buffer }>();

  private constructor(
    readonly root: string,
    readonly prefix: string,
    readonly log: Logger,
  ) {
    if (typeof root === "string" && typeof prefix === "string") return;
    throw new TypeError('a SkillFolder has a folder and a prefix: write await SkillFolder.open("skills", "skill://")');
  }

  /**
   * Opens a directory under a prefix of URIs, such as "skill://acme/": pass the result to server.provide with the same
   * prefix. Rejects if the directory cannot be read, and if a skill is invalid: SKILL.md must begin with YAML between
   * two lines of ---, with a description and with the directory as its name. A skill that becomes invalid later is left
   * out and logged.
   */
  static async open(root: string, prefix: string, log: Logger = stderrLogger): Promise<SkillFolder> {
    const folder = new SkillFolder(root, prefix, log);
    if (!prefix.endsWith("/"))
      throw new TypeError(`prefix ${JSON.stringify(prefix)}: it must end with a slash, as skill:// does`);
    const { skills, files } = await folder.#scan();
    for (const dir of skills) await folder.#skill(dir, files);
    return folder;
  }

  /** The directories with a SKILL.md, and the files in and below them, both in order. */
  async #scan(): Promise<{ skills: string[]; files: string[] }> {
    const entries = await readdir(this.root, { recursive: true, withFileTypes: true });
    const visible = entries
      .map((entry) => ({ entry, name: relative(this.root, join(entry.parentPath ?? entry.path, entry.name)) }))
      .filter(({ name }) => !/(^|\/)\./.test(name));
    if (visible.length > maxSkillEntries) {
      throw new Error(`the skills have more than ${maxSkillEntries} files and directories; serve fewer`);
    }
    const all = visible.flatMap(({ entry, name }) => (entry.isFile() ? [name] : [])).sort();
    const skills = all.filter((name) => basename(name) === skillFile && dirname(name) !== ".").map(dirname);
    const within = new Set(skills);
    return { skills, files: all.filter((name) => parents(name).some((dir) => within.has(dir))) };
  }

  /** @internal */
  get [uriPrefix](): string {
    return this.prefix;
  }

  /** The URI of a file by its name in the directory. */
  uri(name: string): string {
    return this.prefix + name.split("/").map(encodeURIComponent).join("/");
  }

  async #read(name: string): Promise<Buffer> {
    const { size } = await stat(join(this.root, name));
    if (size > maxSkillFileBytes) {
      throw new Failure("FailedPrecondition", `${name} has ${size} bytes: at most ${maxSkillFileBytes} can be sent`);
    }
    return readFile(join(this.root, name));
  }

  /** Describes a file. It is read if its size or time has changed. */
  async #file(name: string): Promise<SkillFile> {
    const { size, mtimeMs } = await stat(join(this.root, name));
    let known = this.#digests.get(name);
    if (known?.size !== size || known.modified !== mtimeMs) {
      const data = await this.#read(name);
      known = { size: data.length, modified: mtimeMs, sha256: createHash("sha256").update(data).digest() };
      this.#digests.set(name, known);
    }
    return { uri: this.uri(name), sha256: known.sha256, size: known.size };
  }

  /** Describes the skill of a directory; files are those of all skills. */
  async #skill(dir: string, files: string[]): Promise<Skill> {
    try {
      const name = `${dir}/${skillFile}`;
      const frontmatter = frontMatter(await this.#read(name), basename(dir));
      const own = files.filter((file) => file.startsWith(dir + "/"));
      return { uri: this.uri(name), frontmatter, files: await Promise.all(own.map((file) => this.#file(file))) };
    } catch (error) {
      throw new Error(`skill ${JSON.stringify(dir)}: ${messageOf(error)}`, { cause: error });
    }
  }

  async skills(): Promise<Skill[]> {
    const { skills, files } = await this.#scan();
    const all: Skill[] = [];
    for (const dir of skills) {
      try {
        all.push(await this.#skill(dir, files));
      } catch (error) {
        this.log.warn("a skill is left out", { error: messageOf(error) });
      }
    }
    return all;
  }

  async skill(uri: string): Promise<Skill | undefined> {
    const { skills, files } = await this.#scan();
    const dir = skills.find((dir) => this.uri(`${dir}/${skillFile}`) === uri);
    return dir === undefined ? undefined : this.#skill(dir, files);
  }

  async list(): Promise<Resource[]> {
    const { files } = await this.#scan();
    return Promise.all(files.map((name) => this.#resource(name)));
  }

  /** Describes a file. A SKILL.md has the name and the description of its skill. */
  async #resource(name: string): Promise<Resource> {
    const resource: Resource = { uri: this.uri(name), name: basename(name), mimeType: types[extname(name)] };
    if (resource.name !== skillFile) return resource;
    try {
      const skill = basename(dirname(name));
      const { description } = frontMatter(await this.#read(name), skill);
      return { ...resource, name: skill, description };
    } catch {
      return resource;
    }
  }

  /** Reads files of skills only. */
  async read(uri: string): Promise<ReadOutput> {
    const { files } = await this.#scan();
    const name = files.find((name) => this.uri(name) === uri);
    return name === undefined ? undefined : bytesContents(await this.#read(name), types[extname(name)]);
  }

  async directory(uri: string): Promise<Resource[] | undefined> {
    const { files } = await this.#scan();
    const dir = files.flatMap(parents).find((dir) => this.uri(dir) === uri);
    if (dir === undefined) return undefined;
    const below = files.filter((name) => name.startsWith(dir + "/")).map((name) => name.slice(dir.length + 1));
    const children = [...new Set(below.map((name) => name.split("/")[0]!))].map((name) => {
      const directory = { uri: this.uri(`${dir}/${name}`), name, mimeType: directoryType };
      return below.includes(name) ? this.#resource(`${dir}/${name}`) : directory;
    });
    return Promise.all(children);
  }
}

/** The directories above a file. */
function parents(name: string): string[] {
  const dir = dirname(name);
  return dir === "." ? [] : [dir, ...parents(dir)];
}

/** Returns the frontmatter of a SKILL.md, which is YAML. */
function frontMatter(data: Buffer, name: string): { name: string; description: string } {
  const head = /^\uFEFF?---\n(.*?)\n---/s.exec(data.toString("utf8").replaceAll("\r\n", "\n"));
  if (!head) throw new Error("SKILL.md does not begin with YAML between two lines of ---");
  const members: unknown = parse(head[1]!);
  const front = { ...(members as object) } as { name: string; description: string };
  if (front.name !== name) {
    const got = JSON.stringify(front.name) ?? "none";
    throw new Error(`SKILL.md has the name ${got}: it must be that of its directory, ${JSON.stringify(name)}`);
  }
  if (typeof front.description !== "string" || !front.description) {
    throw new Error("SKILL.md has no description, which must be a text");
  }
  return front;
}
