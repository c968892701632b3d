package io.mcpedge.capability;

import java.util.List;

/**
 * A skill. MCP: the extension io.modelcontextprotocol/skills.
 *
 * @param uri the URI of its SKILL.md
 * @param frontmatter the YAML at the head of SKILL.md as a JSON object, with name and description
 * @param files all files, SKILL.md included
 * @param dynamic whether the files may differ from one read to the next
 */
public record Skill(String uri, RawJson frontmatter, List<SkillFile> files, boolean dynamic) {
  public Skill {
    files = List.copyOf(files);
  }
}
