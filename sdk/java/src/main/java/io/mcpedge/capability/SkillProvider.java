package io.mcpedge.capability;

import java.util.List;

/** A provider of skills: some of its resources are the files of skills. MCP: the extension io.modelcontextprotocol/skills. */
public interface SkillProvider extends ResourceProvider {
  /** Returns the skills, in a stable order. It may omit some. */
  List<Skill> skills() throws Exception;

  /** The current skill whose SKILL.md has the URI, listed or not; null if there is none. */
  Skill skill(Call call, String uri) throws Exception;
}
