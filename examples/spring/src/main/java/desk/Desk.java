package desk;

import io.mcpedge.capability.Capability;
import io.mcpedge.capability.Description;
import io.mcpedge.capability.Limits;
import io.mcpedge.capability.Serving;
import java.io.IOException;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/** An order desk whose tools are served to MCP clients by the beans of a Spring application. */
@SpringBootApplication
public class Desk {
  record Order(@Description("Which tea") String tea, @Limits(min = 1, max = 12) int cups) {}

  public static void main(String[] args) {
    SpringApplication.run(Desk.class, args);
  }

  @Bean
  Capability capability(Orders orders) {
    return new Capability("desk", "1.0.0")
        .tool("order", "Orders tea", Order.class, (call, order) -> {
          if (!call.ask("sure", "Order " + order.cups() + " cups of " + order.tea() + "?", boolean.class)) {
            return "Nothing was ordered.";
          }
          return "Order " + orders.place(call.id(), order.tea(), order.cups()) + " is placed.";
        });
  }

  /** Serves while the application runs: Spring closes it before the beans that it uses, so that running calls can finish. */
  @Bean
  Serving serving(Capability capability, @Value("${mcp.listen}") String address) throws IOException {
    return capability.start(address);
  }
}
