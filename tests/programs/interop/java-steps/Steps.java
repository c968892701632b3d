import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** What the clients in Java share: the command line, steps, and what they compare by. */
final class Steps {
    private static final int PATIENCE = 60; // seconds, for anything that is awaited

    String dir;
    String url;
    String cut;
    String drain;
    String sse;
    final List<String> command = new ArrayList<>();

    /** Reads "--dir DIR", and "--url URL" with "--cut URL" or "--drain URL", "--sse URL" or "-- COMMAND ARGUMENTS…". */
    Steps(String[] args) {
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--dir" -> dir = args[++i];
                case "--url" -> url = args[++i];
                case "--cut" -> cut = args[++i];
                case "--drain" -> drain = args[++i];
                case "--sse" -> sse = args[++i];
                case "--" -> {
                    command.addAll(List.of(args).subList(i + 1, args.length));
                    i = args.length;
                }
                default -> throw new IllegalArgumentException("unknown: " + args[i]);
            }
        }
        if (dir == null || url == null && sse == null && command.isEmpty()) {
            throw new IllegalArgumentException(
                    "give --dir DIR, and one of: --url URL with --cut URL or --drain URL, --sse URL, -- COMMAND ARGUMENTS…");
        }
    }

    interface Body {
        void run() throws Exception;
    }

    /** Runs body and prints "ok NAME". A failure ends the program. */
    void step(String name, Body body) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Thread runner = new Thread(() -> {
            try {
                body.run();
                done.complete(null);
            } catch (Throwable e) {
                done.completeExceptionally(e);
            }
        });
        runner.setDaemon(true);
        runner.start();
        try {
            done.get(PATIENCE, TimeUnit.SECONDS);
        } catch (Exception e) {
            System.out.println("FAILED " + name + ": " + e);
            if (e.getCause() != null) {
                e.getCause().printStackTrace(System.out);
            }
            System.exit(1);
        }
        System.out.println("ok " + name);
    }

    /** The base of an endpoint's URL. */
    static String base(String url) {
        URI u = URI.create(url);
        return u.getScheme() + "://" + u.getAuthority();
    }

    static void post(String url) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(url)).POST(HttpRequest.BodyPublishers.noBody()).build();
        HttpResponse<String> got = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        equal(got.statusCode(), 200, "status");
    }

    static <T> T fails(Callable<?> call, Class<T> kind) throws Exception {
        Object result;
        try {
            result = call.call();
        } catch (Exception e) {
            if (kind.isInstance(e)) {
                return kind.cast(e);
            }
            throw e;
        }
        throw new AssertionError("expected " + kind + ", got " + result);
    }

    static void equal(Object got, Object want, String what) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError(what + ": expected " + want + ", got " + got);
        }
    }

    static void contains(String got, String part, String what) {
        if (!got.contains(part)) {
            throw new AssertionError(what + ": expected something with " + part + ", got " + got);
        }
    }

    static void contains(List<?> got, Object part, String what) {
        if (!got.contains(part)) {
            throw new AssertionError(what + ": expected something with " + part + ", got " + got);
        }
    }

    interface Test {
        boolean holds();
    }

    /** Waits until a condition holds; the step's patience bounds it. */
    static void await(Test test) throws InterruptedException {
        while (!test.holds()) {
            Thread.sleep(10);
        }
    }
}
