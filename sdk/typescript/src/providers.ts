import type { Call } from "./call.js";
import type { Resource } from "./content.js";
import { type Awaitable, Failure } from "./failure.js";
import { readBy, type ReadOutput } from "./resources.js";
import type { Bytes } from "./types.js";

/** One file of a skill, at a URI below the directory of its SKILL.md, with the SHA-256 of its bytes: 32 bytes. */
export interface SkillFile {
  uri: string;
  sha256: Bytes;
  size: number | bigint;
}

/** A directory of files with instructions for an agent (agentskills.io). */
export interface Skill {
  /** The URI of its SKILL.md; the segment before the last is the skill's name. */
  uri: string;
  /** The YAML front matter of SKILL.md, with `name` and `description`. */
  frontmatter: object;
  /** All files, SKILL.md included. */
  files: SkillFile[];
  /** The contents are generated on demand, so they have no digests: files is empty. */
  dynamic?: boolean;
}

/** @internal The member of a provider with the beginning of its URIs; a symbol, so that classes may have a prefix of their own. */
export const uriPrefix = Symbol("uriPrefix");

/** Serves dynamic resources: a directory, a table. Only list and read are required. */
export interface ResourceProvider {
  /** @internal The beginning of all its URIs, if it is known. provide refuses a prefix that does not match it. */
  readonly [uriPrefix]?: string;
  /** All resources, in a stable order. The URIs begin with the provider's prefix. */
  list(): Awaitable<Resource[]>;
  /** The contents of a URI that begins with the prefix, listed or not. undefined and null mean NOT_FOUND. */
  read(uri: string, call: Call): Awaitable<ReadOutput>;
  /**
   * Begins to watch: until the returned function is called, it calls updated with every URI that changed, and
   * listChanged if the result of list changes. At most one watch runs at a time, while there are watchers.
   */
  watch?(updated: (uri: string) => void, listChanged: () => void): Awaitable<() => void>;
  /** The skills whose files are among the resources, in a stable order. MCP: the extension io.modelcontextprotocol/skills. */
  skills?(): Awaitable<Skill[]>;
  /** The current skill whose SKILL.md has the URI, listed or not. Required with skills. */
  skill?(uri: string, call: Call): Awaitable<Skill | null | undefined>;
  /**
   * The direct children of a directory; directories have the MIME type inode/directory. undefined if the URI is no
   * directory.
   */
  directory?(uri: string, call: Call): Awaitable<Resource[] | null | undefined>;
}

/** The MIME type of directories. */
export const directoryType = "inode/directory";

/** A provider with its prefix and the number of its watchers. */
export class Provided {
  #users = 0;
  #stop: Promise<() => void> | undefined;

  constructor(
    readonly prefix: string,
    readonly provider: ResourceProvider,
    readonly updated: (uri: string) => void,
    readonly listChanged: () => void,
  ) {}

  readonly handle = readBy((uri, call) => this.provider.read(uri, call));

  /** Begins to watch for the first watcher. Each call requires one release, whether it succeeds or not. */
  async acquire(): Promise<void> {
    this.#users++;
    this.#stop ??= (async () => (await this.provider.watch?.(this.updated, this.listChanged)) ?? (() => {}))();
    try {
      await this.#stop;
    } catch (error) {
      this.#stop = undefined;
      throw new Failure("Unavailable", `${this.prefix} cannot be watched`, { cause: error });
    }
  }

  /** Stops watching after the last watcher. */
  release(): void {
    if (--this.#users > 0) return;
    this.#stop?.then((stop) => stop()).catch(() => {});
    this.#stop = undefined;
  }
}
