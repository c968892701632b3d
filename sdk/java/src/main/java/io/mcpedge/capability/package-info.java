/**
 * Backends of MCP Edge from Java lambdas: tools, resources and prompts that the edge serves to every client of the Model Context
 * Protocol. A whole program:
 *
 * <pre>{@code
 * record Args(@Description("Whom to greet") String name) {}
 *
 * new Capability("hello", "1.0.0")
 *     .tool("greet", "Greets someone", Args.class, (call, args) -> "Hello, " + args.name())
 *     .serve(args);
 * }</pre>
 *
 * {@link io.mcpedge.capability.Capability} has the definitions of a service and serves them; {@link io.mcpedge.capability.Call} has
 * the request of a handler, and sends events and questions to the client.
 */
package io.mcpedge.capability;
