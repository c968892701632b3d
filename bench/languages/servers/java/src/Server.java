import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.transport.HttpServletStatelessServerTransport;
import io.modelcontextprotocol.spec.McpSchema.CallToolResult;
import io.modelcontextprotocol.spec.McpSchema.Tool;
import java.nio.file.Files;
import java.util.Map;
import org.apache.catalina.startup.Tomcat;

/** The benchmark's tool in the official Java SDK, without sessions and with JSON: Server PORT. */
public final class Server {
  public static void main(String[] args) throws Exception {
    var transport = HttpServletStatelessServerTransport.builder().messageEndpoint("/mcp").build();
    var schema = Map.<String, Object>of("type", "object", "properties", Map.of("bytes", Map.of("type", "integer")));
    var tool = Tool.builder("large", schema).description("Gives much").build();
    McpServer.sync(transport)
        .serverInfo("bench", "1")
        .toolCall(tool, (context, request) -> {
          int bytes = ((Number) request.arguments().get("bytes")).intValue();
          return CallToolResult.builder().addTextContent("x".repeat(bytes)).build();
        })
        .build();

    var tomcat = new Tomcat();
    tomcat.setBaseDir(Files.createTempDirectory("bench").toString());
    tomcat.setHostname("127.0.0.1");
    tomcat.setPort(Integer.parseInt(args[0]));
    tomcat.getConnector().setProperty("address", "127.0.0.1");
    tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1"); // a client keeps its connection, as with the others
    Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(0))); // a stop is no failure
    var context = tomcat.addContext("", null);
    Tomcat.addServlet(context, "mcp", transport).setAsyncSupported(true);
    context.addServletMappingDecoded("/mcp", "mcp");
    tomcat.start();
    tomcat.getServer().await();
  }
}
