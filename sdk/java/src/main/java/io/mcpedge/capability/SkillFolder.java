package io.mcpedge.capability;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Serves the skills below a folder under a prefix of URIs, such as "skill://" or "skill://acme/": pass it to {@link
 * Capability#provide} with the same prefix. Each directory with a SKILL.md is a skill, at any depth, with all files below it. Names
 * with a leading dot, and links, are ignored. Each request reads what has changed. It needs
 * com.fasterxml.jackson.dataformat:jackson-dataformat-yaml among the dependencies.
 */
public final class SkillFolder implements DirectoryProvider {
  /** The MIME type of a directory. */
  public static final String DIRECTORY_TYPE = "inode/directory";

  /** The maximum number of files and directories of a folder. */
  static final int MAX_ENTRIES = 10_000;

  /** The maximum size of one file, which must fit in a message. All files of one skill should have at most 16 MiB and be at most 512. */
  static final int MAX_FILE_BYTES = 15 << 20;

  private static final System.Logger LOG = System.getLogger("io.mcpedge.capability");
  private static final String SKILL = "SKILL.md";
  private static final Pattern HEAD = Pattern.compile("^---\n(.*?)\n---", Pattern.DOTALL);
  private static final Map<String, String> TYPES = Map.ofEntries(Map.entry("css", "text/css"), Map.entry("csv", "text/csv"), Map.entry("html", "text/html"),
      Map.entry("jpeg", "image/jpeg"), Map.entry("jpg", "image/jpeg"), Map.entry("js", "text/javascript"), Map.entry("json", "application/json"),
      Map.entry("md", "text/markdown"), Map.entry("pdf", "application/pdf"), Map.entry("png", "image/png"), Map.entry("py", "text/x-python"),
      Map.entry("sh", "application/x-sh"), Map.entry("svg", "image/svg+xml"), Map.entry("ts", "text/typescript"), Map.entry("txt", "text/plain"),
      Map.entry("xml", "application/xml"), Map.entry("yaml", "application/yaml"), Map.entry("yml", "application/yaml"));

  /** Loads YAML, which is an optional dependency. */
  private static final class Yaml {
    private static final YAMLMapper MAPPER = new YAMLMapper();
  }

  private final Path root;
  private final String prefix;
  private final Map<String, Digest> digests = new ConcurrentHashMap<>();

  /** The digest of a file with this size and modification time. */
  private record Digest(long size, FileTime changed, byte[] sha256) {}

  /** The directories with a SKILL.md, and the files in and below them, in lexical order. */
  private record Scan(List<String> skills, List<String> files) {}

  /**
   * Throws IllegalArgumentException if a skill is invalid: SKILL.md must begin with YAML between two lines of ---, with a description
   * and with the directory as its name. A skill that becomes invalid later is left out and logged.
   */
  public SkillFolder(Path folder, String prefix) throws IOException {
    if (!prefix.endsWith("/")) {
      throw new IllegalArgumentException("the prefix " + Json.quote(prefix) + " must end with a slash, as skill:// does");
    }
    root = folder;
    this.prefix = prefix;
    Scan scan = scan();
    for (String skill : scan.skills) {
      try {
        skill(skill, scan.files);
      } catch (NoClassDefFoundError e) {
        throw new DefinitionException("a SkillFolder needs the dependency com.fasterxml.jackson.dataformat:jackson-dataformat-yaml; add it", e);
      }
    }
  }

  private Scan scan() throws IOException {
    List<String> found = new ArrayList<>();
    Files.walkFileTree(root, new SimpleFileVisitor<>() {
      private int seen;

      private FileVisitResult count() {
        if (++seen > MAX_ENTRIES) {
          throw new IllegalArgumentException(root + " has more than " + MAX_ENTRIES + " files and directories; serve fewer");
        }
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
        return !folder.equals(root) && folder.getFileName().toString().startsWith(".") ? FileVisitResult.SKIP_SUBTREE : count();
      }

      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
        if (attributes.isRegularFile() && !file.getFileName().toString().startsWith(".")) {
          found.add(root.relativize(file).toString().replace('\\', '/'));
        }
        return count();
      }
    });
    Collections.sort(found);
    List<String> skills = found.stream().filter(f -> f.endsWith("/" + SKILL)).map(f -> f.substring(0, f.lastIndexOf('/'))).toList();
    Set<String> within = Set.copyOf(skills);
    return new Scan(skills, found.stream().filter(f -> above(f).anyMatch(within::contains)).toList());
  }

  /** The directories above a name. */
  private static Stream<String> above(String name) {
    Stream.Builder<String> out = Stream.builder();
    for (int i = name.indexOf('/'); i >= 0; i = name.indexOf('/', i + 1)) {
      out.add(name.substring(0, i));
    }
    return out.build();
  }

  private String uri(String name) {
    return prefix + URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20").replace("%2F", "/").replace("*", "%2A").replace("%7E", "~");
  }

  /** Returns the name of the file of a URI; empty if there is none. Each file has exactly one URI, because policies refer to URIs. */
  private String name(String uri) {
    try {
      String name = URLDecoder.decode(uri.substring(Math.min(uri.length(), prefix.length())).replace("+", "%2B"), StandardCharsets.UTF_8);
      return uri(name).equals(uri) ? name : "";
    } catch (IllegalArgumentException e) {
      return "";
    }
  }

  private byte[] bytes(String name) throws IOException {
    Path file = root.resolve(name);
    if (Files.size(file) > MAX_FILE_BYTES) {
      throw new IllegalArgumentException(name + " has more than " + MAX_FILE_BYTES + " bytes");
    }
    return Files.readAllBytes(file);
  }

  private SkillFile file(String name) throws IOException {
    var attributes = Files.readAttributes(root.resolve(name), BasicFileAttributes.class);
    Digest known = digests.get(name);
    if (known == null || known.size != attributes.size() || !known.changed.equals(attributes.lastModifiedTime())) {
      try {
        known = new Digest(attributes.size(), attributes.lastModifiedTime(), MessageDigest.getInstance("SHA-256").digest(bytes(name)));
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException(e); // every Java has it
      }
      digests.put(name, known);
    }
    return new SkillFile(uri(name), known.sha256, known.size);
  }

  private Skill skill(String skill, List<String> files) throws IOException {
    JsonNode front = front(skill);
    List<SkillFile> own = new ArrayList<>();
    for (String name : files) {
      if (name.startsWith(skill + "/")) {
        own.add(file(name));
      }
    }
    return new Skill(uri(skill + "/" + SKILL), new RawJson(front.toString()), own, false);
  }

  /** Returns the frontmatter of a SKILL.md, which is YAML. */
  private JsonNode front(String skill) throws IOException {
    String text = new String(bytes(skill + "/" + SKILL), StandardCharsets.UTF_8).replaceFirst("^\ufeff", "").replace("\r\n", "\n");
    String what = "skill " + Json.quote(skill) + ": SKILL.md ";
    Matcher head = HEAD.matcher(text);
    if (!head.find()) {
      throw new IllegalArgumentException(what + "does not begin with YAML between two lines of ---");
    }
    JsonNode front;
    try {
      front = Yaml.MAPPER.readTree(head.group(1));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException(what + "has front matter that is no YAML: " + e.getOriginalMessage(), e);
    }
    String name = skill.substring(skill.lastIndexOf('/') + 1);
    if (!front.path("name").isTextual() || !front.get("name").asText().equals(name)) {
      throw new IllegalArgumentException(what + "must have the name of its directory, " + Json.quote(name));
    }
    if (!front.path("description").isTextual() || front.get("description").asText().isEmpty()) {
      throw new IllegalArgumentException(what + "has no description, which must be a text");
    }
    return front;
  }

  @Override
  public List<Skill> skills() throws IOException {
    Scan scan = scan();
    List<Skill> out = new ArrayList<>();
    for (String skill : scan.skills) {
      try {
        out.add(skill(skill, scan.files));
      } catch (IllegalArgumentException | IOException e) {
        LOG.log(System.Logger.Level.WARNING, "a skill is left out: " + Rounds.text(e));
      }
    }
    return out;
  }

  @Override
  public Skill skill(Call call, String uri) throws IOException {
    String name = name(uri);
    Scan scan = scan();
    String skill = name.endsWith("/" + SKILL) ? name.substring(0, name.lastIndexOf('/')) : "";
    return scan.skills.contains(skill) ? skill(skill, scan.files) : null;
  }

  @Override
  public List<Resource> list() throws IOException {
    return scan().files.stream().map(this::resource).toList();
  }

  private Resource resource(String name) {
    String last = name.substring(name.lastIndexOf('/') + 1);
    var listed = Resource.builder().uri(uri(name)).name(last).mimeType(type(last));
    if (last.equals(SKILL)) {
      String skill = name.substring(0, name.lastIndexOf('/'));
      try {
        listed.description(front(skill).get("description").asText()).name(skill.substring(skill.lastIndexOf('/') + 1));
      } catch (IllegalArgumentException | IOException e) {
        return listed.build(); // without what cannot be read
      }
    }
    return listed.build();
  }

  private static String type(String name) {
    return TYPES.getOrDefault(name.substring(name.lastIndexOf('.') + 1), "");
  }

  @Override
  public Object read(Call call, String uri) throws IOException {
    String name = name(uri);
    return scan().files.contains(name) ? Resources.ofBytes(uri, type(name.substring(name.lastIndexOf('/') + 1)), bytes(name)) : null;
  }

  @Override
  public List<Resource> directory(Call call, String uri) throws IOException {
    String name = name(uri);
    Scan scan = scan();
    boolean within = Stream.concat(Stream.of(name), above(name)).anyMatch(scan.skills::contains);
    Map<String, Resource> children = new TreeMap<>();
    for (String file : scan.files) {
      if (within && file.startsWith(name + "/")) {
        String rest = file.substring(name.length() + 1);
        String child = rest.contains("/") ? rest.substring(0, rest.indexOf('/')) : rest;
        children.put(child, rest.equals(child) ? resource(file)
            : Resource.builder().uri(uri(name + "/" + child)).name(child).mimeType(DIRECTORY_TYPE).build());
      }
    }
    return children.isEmpty() ? null : List.copyOf(children.values());
  }
}
