package io.mcpedge.capability;

import io.grpc.ServerCredentials;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.System.Logger;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.security.GeneralSecurityException;
import java.util.*;
import java.util.concurrent.CountDownLatch;

/** Runs a Capability as a complete program. */
final class Program {
  private static final Map<String, String> FLAGS = new LinkedHashMap<>();

  static {
    FLAGS.put("listen", "ADDR  serve gRPC on host:port or unix:/path (default: 127.0.0.1:50051)");
    FLAGS.put("tls-cert", "FILE  certificate chain in PEM, with --tls-key");
    FLAGS.put("tls-key", "FILE  its key in PEM");
    FLAGS.put("tls-client-ca", "FILE  CA in PEM that clients need a certificate of");
  }

  private Program() {}

  static void run(Capability capability, String... argv) {
    JsonLog.install();
    Logger log = System.getLogger("io.mcpedge.capability");
    String name = capability.info.getName();
    Map<String, String> flags = parse(name, argv);
    String address = flags.getOrDefault("listen", "127.0.0.1:50051");
    CountDownLatch stop = new CountDownLatch(1);
    onSignals(stop::countDown);
    try (Tls tls = Tls.of(file(flags, "tls-cert"), file(flags, "tls-key"), file(flags, "tls-client-ca"))) {
      ServerCredentials credentials = tls == null ? null : tls.credentials();
      try (Serving serving = Serving.start(capability, address, credentials)) {
        String shown = serving.port() < 0 ? address : address.substring(0, address.lastIndexOf(':') + 1) + serving.port();
        log.log(Logger.Level.INFO, name + " serves on " + shown + (tls == null ? "" : " with TLS"));
        stop.await();
      }
    } catch (IOException | GeneralSecurityException e) {
      log.log(Logger.Level.ERROR, name + " failed: " + Rounds.text(e) + (e.getCause() == null ? "" : ": " + Rounds.text(e.getCause())));
      System.exit(1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    endSoon();
  }

  private static Map<String, String> parse(String name, String... argv) {
    Map<String, String> flags = new HashMap<>();
    for (int i = 0; i < argv.length; i++) {
      if (List.of("--help", "-help", "-h").contains(argv[i])) {
        usage(name, System.out, 0);
      }
      String[] parts = argv[i].replaceFirst("^--?", "").split("=", 2);
      boolean known = argv[i].startsWith("-") && FLAGS.containsKey(parts[0]);
      if (!known || (parts.length == 1 && i + 1 == argv.length)) {
        refuse(name, (known ? "a value is missing after " : "unknown argument ") + argv[i]);
      }
      flags.put(parts[0], parts.length == 2 ? parts[1] : argv[++i]);
    }
    if (flags.containsKey("tls-cert") != flags.containsKey("tls-key") || (flags.containsKey("tls-client-ca") && !flags.containsKey("tls-cert"))) {
      refuse(name, "--tls-cert and --tls-key go together, and --tls-client-ca with them");
    }
    return flags;
  }

  private static void refuse(String name, String problem) {
    System.err.println(problem);
    usage(name, System.err, 2);
  }

  private static void usage(String name, PrintStream to, int status) {
    to.println("Serves " + name + " to MCP Edge. Flags:");
    FLAGS.forEach((flag, text) -> to.println("  --" + flag + " " + text));
    System.exit(status);
  }

  private static File file(Map<String, String> flags, String name) {
    return flags.containsKey(name) ? new File(flags.get(name)) : null;
  }

  /**
   * Runs stop on SIGTERM and SIGINT. A shutdown hook of the JVM would end the process with status 143, so it is used only in runtimes
   * without sun.misc.Signal, which is therefore loaded by its name.
   */
  private static void onSignals(Runnable stop) {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      InvocationHandler run = (proxy, method, args) -> {
        if (method.getName().equals("handle")) {
          stop.run();
        }
        return null;
      };
      Object proxy = Proxy.newProxyInstance(handler.getClassLoader(), new Class<?>[] {handler}, run);
      for (String name : new String[] {"TERM", "INT"}) {
        signal.getMethod("handle", signal, handler).invoke(null, signal.getConstructor(String.class).newInstance(name), proxy);
      }
    } catch (ReflectiveOperationException e) {
      Runtime.getRuntime().addShutdownHook(new Thread(stop));
    }
  }

  /** Ends the process after one second, also if other threads still run. */
  private static void endSoon() {
    new Timer("end", true).schedule(new TimerTask() {
      @Override
      public void run() {
        System.exit(0);
      }
    }, 1000);
  }
}
