package io.mcpedge.capability;

import java.util.List;

/** A provider of skills whose directories can be listed. The edge announces that if every provider of skills is one. */
public interface DirectoryProvider extends SkillProvider {
  /**
   * The direct children of a directory, in a stable order; directories have the MIME type inode/directory. Null or
   * java.nio.file.NoSuchFileException means that the URI is no directory.
   */
  List<Resource> directory(Call call, String uri) throws Exception;
}
