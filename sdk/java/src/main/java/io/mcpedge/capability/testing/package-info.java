/**
 * Calls a Capability in tests as the edge does, through as many rounds as it asks for, in process.
 *
 * <pre>{@code
 * try (TestClient client = new TestClient(capability).answer("sure", Answer.declined())) {
 *   assertEquals("Nothing was deleted.", client.callTool("delete", Map.of("name", "x")).text());
 * }
 * }</pre>
 */
package io.mcpedge.capability.testing;
