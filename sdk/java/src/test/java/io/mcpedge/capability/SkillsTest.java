package io.mcpedge.capability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.mcpedge.capability.testing.TestClient;
import io.mcpedge.v1.BackendServiceGrpc;
import io.mcpedge.v1.DescribeRequest;
import io.mcpedge.v1.GetSkillRequest;
import io.mcpedge.v1.ListResourceDirectoryRequest;
import io.mcpedge.v1.ListResourcesRequest;
import io.mcpedge.v1.ListSkillsRequest;
import io.mcpedge.v1.Resource;
import io.mcpedge.v1.ResourceServiceGrpc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.List;
import java.util.Map;
import java.util.logging.Logger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SkillsTest {
  private static final String HEAD = "---\nname: tea\ndescription: Makes tea\nsince: 2026-01-02\n---\nBoil water.\n";

  @TempDir Path folder;

  private void write(String name, String text) throws IOException {
    Files.createDirectories(folder.resolve(name).getParent());
    Files.writeString(folder.resolve(name), text);
  }

  @BeforeEach
  void skills() throws IOException {
    write("house/tea/SKILL.md", HEAD);
    write("house/tea/a b/steps.txt", "one");
    write("house/tea/.hidden", "no");
    write("house/other.txt", "of no skill");
    Files.createSymbolicLink(folder.resolve("house/tea/link"), folder.resolve("house/other.txt"));
  }

  @Test
  void aFolderIsServed() throws Exception {
    Capability s = new Capability("test", "1").provide("skill://", new SkillFolder(folder, "skill://"));
    try (var client = new TestClient(s)) {
      var stub = ResourceServiceGrpc.newBlockingStub(client.channel());
      assertTrue(BackendServiceGrpc.newBlockingStub(client.channel()).describe(DescribeRequest.getDefaultInstance()).getResources().getDirectories());
      var skill = stub.listSkills(ListSkillsRequest.getDefaultInstance()).getSkills(0);
      assertEquals("skill://house/tea/SKILL.md", skill.getUri());
      assertEquals("{\"name\":\"tea\",\"description\":\"Makes tea\",\"since\":\"2026-01-02\"}", skill.getFrontmatterJson());
      assertEquals(List.of("skill://house/tea/SKILL.md", "skill://house/tea/a%20b/steps.txt"), skill.getFilesList().stream().map(f -> f.getUri()).toList());
      assertEquals(com.google.protobuf.ByteString.copyFrom(MessageDigest.getInstance("SHA-256").digest("one".getBytes())), skill.getFiles(1).getSha256());
      assertEquals(skill, stub.getSkill(GetSkillRequest.newBuilder().setUri(skill.getUri()).build()).getSkill());
      var listed = stub.listResources(ListResourcesRequest.getDefaultInstance()).getResources(0);
      assertEquals("tea Makes tea text/markdown", listed.getName() + " " + listed.getDescription() + " " + listed.getMimeType());
      assertEquals(HEAD, client.readResource("skill://house/tea/SKILL.md").readResult().contents().get(0).text());
      assertEquals("one", client.readResource("skill://house/tea/a%20b/steps.txt").readResult().contents().get(0).text());
      for (String none : List.of("skill://house/other.txt", "skill://house/tea/.hidden", "skill://house/tea/link", "skill://house/tea/a b/steps.txt",
          "skill://house/../house/tea/SKILL.md", "skill://house/tea/%zz")) {
        assertEquals(Reason.NOT_FOUND, client.readResource(none).failure().reason(), none);
      }
      var children = stub.listResourceDirectory(ListResourceDirectoryRequest.newBuilder().setUri("skill://house/tea").build()).getResourcesList();
      assertEquals(List.of("tea text/markdown", "a b inode/directory"), children.stream().map(SkillsTest::shown).toList());
      for (String none : List.of("skill://house", "skill://house/tea/SKILL.md", "skill://")) {
        var e = assertThrows(StatusRuntimeException.class, () -> stub.listResourceDirectory(ListResourceDirectoryRequest.newBuilder().setUri(none).build()), none);
        assertEquals(Status.Code.NOT_FOUND, e.getStatus().getCode());
      }
    }
  }

  private static String shown(Resource resource) {
    return resource.getName() + " " + resource.getMimeType();
  }

  /** An invalid skill is refused at the start, and omitted later. */
  @Test
  void invalidSkillsSayWhatIsWrong() throws Exception {
    SkillFolder served = new SkillFolder(folder, "skill://");
    Logger log = Logger.getLogger("io.mcpedge.capability");
    log.setUseParentHandlers(false);
    try {
      for (var wrong : Map.of("no head", "does not begin with YAML between two lines of ---", "---\nname: [\n---\n", "has front matter that is no YAML",
          "---\nname: x\n---\n", "must have the name of its directory, \"tea\"", "---\nname: tea\n---\n", "has no description").entrySet()) {
        write("house/tea/SKILL.md", wrong.getKey());
        assertEquals(List.of(), served.skills());
        var e = assertThrows(IllegalArgumentException.class, () -> new SkillFolder(folder, "skill://"));
        assertTrue(e.getMessage().startsWith("skill \"house/tea\": SKILL.md " + wrong.getValue()), e.getMessage());
      }
    } finally {
      log.setUseParentHandlers(true);
    }
    assertThrows(IllegalArgumentException.class, () -> new SkillFolder(folder, "skill:"));
  }

  @Test
  void withoutSkillsThereIsNoList() {
    try (var client = new TestClient(new Capability("test", "1"))) {
      var stub = ResourceServiceGrpc.newBlockingStub(client.channel());
      var e = assertThrows(StatusRuntimeException.class, () -> stub.listSkills(ListSkillsRequest.getDefaultInstance()));
      assertEquals(Status.Code.UNIMPLEMENTED, e.getStatus().getCode());
    }
  }
}
