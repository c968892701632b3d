package io.mcpedge.capability;

import io.grpc.*;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.DefaultEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.*;
import io.grpc.netty.shaded.io.netty.channel.local.*;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.mcpedge.v1.*;
import java.io.IOException;
import java.net.*;
import java.nio.channels.SocketChannel;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.logging.Logger;

/**
 * A running Capability, with the standard health service, reflection, and messages up to 16 MiB. Clients may ping every five
 * seconds.
 */
@SuppressWarnings("deprecation") // Netty 4.2 prefers other groups; these are those of 4.1, which older gRPC has, as well
public final class Serving implements AutoCloseable {
  /** The maximum size of a received message, in bytes. */
  static final int MESSAGE_BYTES = 16 << 20;

  /** The bits of a file's mode that are its type, and those of a socket: see inode(7). */
  private static final int FILE_TYPE = 0170000;
  private static final int SOCKET = 0140000;

  /** Netty's log. Without a filter it has a warning for each connection that is not TCP, about an option that gRPC sets. */
  private static final Logger NETTY = Logger.getLogger("io.grpc.netty.shaded.io.netty.bootstrap");

  static {
    NETTY.setLevel(java.util.logging.Level.SEVERE);
  }

  private final Capability capability;
  private final Server server;
  private final HealthStatusManager health;
  private final List<EventLoopGroup> groups; // of its own, for a Unix socket

  private Serving(Capability capability, Server server, HealthStatusManager health, List<EventLoopGroup> groups) {
    this.capability = capability;
    this.server = server;
    this.health = health;
    this.groups = groups;
  }

  /** Throws IOException if it cannot listen on the address. Null credentials mean plaintext. */
  static Serving start(Capability capability, String address, ServerCredentials credentials) throws IOException {
    List<EventLoopGroup> groups = new ArrayList<>();
    var builder = listen(address, credentials == null ? InsecureServerCredentials.create() : credentials, groups);
    builder.maxInboundMessageSize(MESSAGE_BYTES).maxInboundMetadataSize(64 << 10)
        .permitKeepAliveTime(5, TimeUnit.SECONDS).permitKeepAliveWithoutCalls(true);
    var health = new HealthStatusManager();
    capability.services().forEach(service -> {
      builder.addService(service);
      health.setStatus(service.getServiceDescriptor().getName(), ServingStatus.SERVING);
    });
    warmUp(capability);
    BindableService reflection = ProtoReflectionServiceV1.newInstance();
    Server server = builder.addService(health.getHealthService()).addService(reflection).build();
    try {
      return new Serving(capability, server.start(), health, groups);
    } catch (IOException e) {
      groups.forEach(EventLoopGroup::shutdownGracefully);
      throw e;
    }
  }

  /** Loads the classes that the first calls need, by calls over HTTP/2 without a socket: an edge waits a second for a first call. */
  private static void warmUp(Capability capability) throws IOException {
    EventLoopGroup group = new DefaultEventLoopGroup(1);
    LocalAddress address = new LocalAddress("warm-up-" + System.nanoTime());
    var builder = NettyServerBuilder.forAddress(address, InsecureServerCredentials.create()).channelType(LocalServerChannel.class)
        .bossEventLoopGroup(group).workerEventLoopGroup(group).addService(new HealthStatusManager().getHealthService());
    capability.services().forEach(builder::addService);
    Server server = builder.build().start();
    ManagedChannel channel = NettyChannelBuilder.forAddress(address, InsecureChannelCredentials.create()).channelType(LocalChannel.class)
        .eventLoopGroup(group).build();
    HealthGrpc.newBlockingStub(channel).check(HealthCheckRequest.getDefaultInstance());
    BackendServiceGrpc.newBlockingStub(channel).describe(DescribeRequest.getDefaultInstance());
    ToolServiceGrpc.newBlockingStub(channel).listTools(ListToolsRequest.getDefaultInstance());
    channel.shutdownNow();
    server.shutdownNow();
    group.shutdownGracefully();
  }

  private static NettyServerBuilder listen(String address, ServerCredentials credentials, List<EventLoopGroup> groups) throws IOException {
    if (address.startsWith("unix:")) {
      Path path = Path.of(address.substring("unix:".length()).replaceFirst("^//", ""));
      if (!Epoll.isAvailable()) {
        throw new IOException("cannot listen on " + address + ": Unix sockets are served on Linux only; give host:port");
      }
      refuseTaken(path);
      EventLoopGroup group = new EpollEventLoopGroup();
      groups.add(group);
      return NettyServerBuilder.forAddress(new DomainSocketAddress(path.toFile()), credentials).channelType(EpollServerDomainSocketChannel.class)
          .bossEventLoopGroup(group).workerEventLoopGroup(group);
    }
    int colon = address.lastIndexOf(':');
    try {
      String host = address.substring(0, Math.max(colon, 0)).replaceAll("^\\[|\\]$", "");
      int port = Integer.parseInt(address.substring(colon + 1));
      return NettyServerBuilder.forAddress(host.isEmpty() ? new InetSocketAddress(port) : new InetSocketAddress(host, port), credentials);
    } catch (IllegalArgumentException e) {
      throw new IOException("the address " + Json.quote(address) + " must be host:port or unix:/path", e);
    }
  }

  /** Throws IOException if the path is not a socket, or a socket in use. Netty would delete either. */
  private static void refuseTaken(Path path) throws IOException {
    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
      return;
    }
    if (((int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & FILE_TYPE) != SOCKET) {
      throw new IOException("cannot listen on unix:" + path + ": a file is there that is no socket; remove it, or give another path");
    }
    try (SocketChannel probe = SocketChannel.open(StandardProtocolFamily.UNIX)) {
      probe.connect(UnixDomainSocketAddress.of(path));
    } catch (SocketException e) {
      return; // the socket is unused
    }
    throw new IOException("the socket " + path + " is in use");
  }

  /** The port that it listens on; -1 if it is not a TCP port. */
  public int port() {
    return server.getPort();
  }

  /** Waits until it has ended. */
  public void await() throws InterruptedException {
    server.awaitTermination();
  }

  /**
   * Stops gracefully: health reports NOT_SERVING, change feeds end, and running calls have the capability's grace to finish.
   * Later they end as UNAVAILABLE, with their handlers interrupted. It returns after all have ended.
   */
  @Override
  public void close() {
    health.enterTerminalState();
    server.shutdown();
    capability.close();
    try {
      if (!server.awaitTermination(capability.grace.toMillis(), TimeUnit.MILLISECONDS)) {
        capability.endCalls();
        server.shutdownNow().awaitTermination(1, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      server.shutdownNow();
      Thread.currentThread().interrupt();
    }
    groups.forEach(EventLoopGroup::shutdownGracefully);
  }
}
