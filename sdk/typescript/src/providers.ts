import type { Call } from "./call.js";
import type { Bytes, Resource } from "./content.js";
import { type Awaitable, Failure } from "./failure.js";
import type * as wire from "./gen/mcpedge/v1/resources.js";
import { readBy, type ReadOutput } from "./resources.js";

/** One file of a skill, at a URI below the directory of its SKILL.md, with the SHA-256 of its bytes: 32 bytes. */
export type SkillFile = Pick<wire.SkillFile, "uri"> & { sha256: Bytes; size: number | bigint };

/** A directory of files that tells an agent how to do something (agentskills.io). */
export interface Skill {
  /** Of its SKILL.md; the segment before the last is the skill's name. */
  uri: string;
  /** The YAML front matter of SKILL.md, with `name` and `description`. */
  frontmatter: object;
  /** All files, SKILL.md included. */
  files: SkillFile[];
  /** What the files hold is made on demand, so that they have no digests: files is empty. */
  dynamic?: boolean;
}

/** Serves resources that come and go: a directory, a table. All methods but list and read may be missing. */
export interface ResourceProvider {
  /** All resources, in a stable order. The URIs begin with the provider's prefix. */
  list(): Awaitable<Resource[]>;
  /** What is at a URI that begins with the prefix, listed or not. undefined, as null, is NOT_FOUND. */
  read(uri: string, call: Call): Awaitable<ReadOutput>;
  /**
   * Begins to watch: from then on updated is called with every URI that changed, and listChanged when list would answer
   * differently, until what it returns is called. It runs while anyone watches, once at a time.
   */
  watch?(updated: (uri: string) => void, listChanged: () => void): Awaitable<() => void>;
  /** The skills whose files are among the resources, in a stable order. MCP: the extension io.modelcontextprotocol/skills. */
  skills?(): Awaitable<Skill[]>;
  /** The skill whose SKILL.md has the URI, as it is now, listed or not. Required with skills. */
  skill?(uri: string, call: Call): Awaitable<Skill | null | undefined>;
  /** The direct children of a directory; those that are directories have the MIME type inode/directory. undefined: it is none. */
  directory?(uri: string, call: Call): Awaitable<Resource[] | null | undefined>;
}

/** The MIME type of directories. */
export const directoryType = "inode/directory";

/** A provider in its place, with how many watch it. */
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

  /** Begins to watch for the first user. Each needs one release, whether this succeeded or not. */
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

  /** Stops it after the last user. */
  release(): void {
    if (--this.#users > 0) return;
    this.#stop?.then((stop) => stop()).catch(() => {});
    this.#stop = undefined;
  }
}
