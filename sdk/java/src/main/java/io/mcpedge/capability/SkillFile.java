package io.mcpedge.capability;

/**
 * A file of a skill.
 *
 * @param sha256 the digest of its bytes
 * @param size in bytes
 */
public record SkillFile(String uri, byte[] sha256, long size) {}
