// Drives an edge with the client of the MCP Kotlin SDK over each of its transports.
@file:JvmName("Main")

import io.ktor.client.HttpClient
import io.ktor.client.engine.cio.CIO
import io.ktor.client.plugins.sse.SSE
import io.modelcontextprotocol.kotlin.sdk.client.Client
import io.modelcontextprotocol.kotlin.sdk.client.ClientOptions
import io.modelcontextprotocol.kotlin.sdk.client.SseClientTransport
import io.modelcontextprotocol.kotlin.sdk.client.StdioClientTransport
import io.modelcontextprotocol.kotlin.sdk.client.StreamableHttpClientTransport
import io.modelcontextprotocol.kotlin.sdk.shared.RequestOptions
import io.modelcontextprotocol.kotlin.sdk.shared.Transport
import io.modelcontextprotocol.kotlin.sdk.types.CallToolResult
import io.modelcontextprotocol.kotlin.sdk.types.ClientCapabilities
import io.modelcontextprotocol.kotlin.sdk.types.CompleteRequest
import io.modelcontextprotocol.kotlin.sdk.types.CompleteRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageRequest
import io.modelcontextprotocol.kotlin.sdk.types.CreateMessageResult
import io.modelcontextprotocol.kotlin.sdk.types.ElicitResult
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptRequest
import io.modelcontextprotocol.kotlin.sdk.types.GetPromptRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.Implementation
import io.modelcontextprotocol.kotlin.sdk.types.ListPromptsRequest
import io.modelcontextprotocol.kotlin.sdk.types.ListResourcesRequest
import io.modelcontextprotocol.kotlin.sdk.types.ListToolsRequest
import io.modelcontextprotocol.kotlin.sdk.types.LoggingLevel
import io.modelcontextprotocol.kotlin.sdk.types.LoggingMessageNotification
import io.modelcontextprotocol.kotlin.sdk.types.Method
import io.modelcontextprotocol.kotlin.sdk.types.PaginatedRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.PromptReference
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceRequest
import io.modelcontextprotocol.kotlin.sdk.types.ReadResourceRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.ResourceUpdatedNotification
import io.modelcontextprotocol.kotlin.sdk.types.Role
import io.modelcontextprotocol.kotlin.sdk.types.SubscribeRequest
import io.modelcontextprotocol.kotlin.sdk.types.SubscribeRequestParams
import io.modelcontextprotocol.kotlin.sdk.types.TextContent
import io.modelcontextprotocol.kotlin.sdk.types.TextResourceContents
import io.modelcontextprotocol.kotlin.sdk.types.ToolListChangedNotification
import java.net.URI
import java.net.http.HttpRequest
import java.net.http.HttpResponse
import java.nio.file.Files
import java.nio.file.Path
import kotlin.system.exitProcess
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.io.asSink
import kotlinx.io.asSource
import kotlinx.io.buffered
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put

val patience = 60.seconds

class Mismatch(message: String) : Exception(message)

/** Where the edge is. */
class Options(args: Array<String>) {
    private val flags = args.takeWhile { it != "--" }.chunked(2).associate { it[0] to it.getOrElse(1) { "" } }
    val dir = flags["--dir"]
    val url = flags["--url"]
    val drain = flags["--drain"]
    val sse = flags["--sse"]
    val command = args.dropWhile { it != "--" }.drop(1)

    init {
        if (dir == null || (url == null && sse == null && command.isEmpty())) {
            System.err.println("give --dir DIR, and one of: --url URL with --cut URL or --drain URL, --sse URL, -- COMMAND ARGUMENTS…")
            exitProcess(2)
        }
    }
}

suspend fun step(name: String, body: suspend () -> Unit) {
    try {
        withTimeout(patience) { body() }
    } catch (e: Throwable) {
        println("FAILED $name: ${if (e is Mismatch) e.message else e.stackTraceToString()}")
        Runtime.getRuntime().halt(1)
    }
    println("ok $name")
}

fun equal(what: String, got: Any?, want: Any?) {
    if (got != want) throw Mismatch("$what: expected $want, got $got")
}

fun contains(what: String, text: String, part: String) {
    if (!text.contains(part)) throw Mismatch("$what: expected something with \"$part\", got \"$text\"")
}

/** Posts nothing to a control address of the replicas. */
fun post(url: String) {
    val request = HttpRequest.newBuilder(URI(url)).POST(HttpRequest.BodyPublishers.noBody()).build()
    val answer = java.net.http.HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString())
    equal("status of $url (${answer.body()})", answer.statusCode(), 200)
}

fun text(result: CallToolResult) = result.content.filterIsInstance<TextContent>().joinToString("\n") { it.text }

class Visit(private val o: Options) {
    private val messages = Channel<LoggingMessageNotification>(Channel.UNLIMITED)
    private val changes = Channel<Unit>(Channel.UNLIMITED)
    private val updates = Channel<String>(Channel.UNLIMITED)
    private var process: Process? = null
    private val client = Client(
        Implementation("interop-kotlin-sdk", "1.0.0"),
        ClientOptions(
            ClientCapabilities(
                sampling = ClientCapabilities.sampling, roots = ClientCapabilities.Roots(true),
                elicitation = ClientCapabilities.elicitation,
            ),
        ),
    )

    private fun transport(): Transport {
        if (o.url != null || o.sse != null) {
            val http = HttpClient(CIO) {
                install(SSE)
                engine { requestTimeout = 0 }
            }
            return if (o.url != null) StreamableHttpClientTransport(http, o.url) else SseClientTransport(http, o.sse)
        }
        val p = ProcessBuilder(o.command).redirectError(ProcessBuilder.Redirect.INHERIT).start()
        process = p
        return StdioClientTransport(p.inputStream.asSource().buffered(), p.outputStream.asSink().buffered())
    }

    private suspend fun call(name: String, vararg arguments: Pair<String, Any?>, onProgress: ((Double) -> Unit)? = null) =
        client.callTool(
            name, arguments.toMap(),
            options = RequestOptions(onProgress = onProgress?.let { report -> { report(it.progress) } }, timeout = patience),
        )

    suspend fun all() {
        answers()
        step("initialize") {
            val way = transport()
            client.connect(way)
            equal("server", client.serverVersion?.name, "mcpedge")
            println("speaks ${if (o.sse != null) "2024-11-05" else (way as? StreamableHttpClientTransport)?.protocolVersion ?: "2025-11-25"}")
        }
        tools()
        if (o.url == null) asking() // else it hears of a question when the call has ended
        running()
        lists()
        resources()
        if (o.drain != null) replicas(o.drain)
        step("close") {
            client.close()
            process?.waitFor()
        }
    }

    private fun answers() {
        client.addRoot("file:///project/a", "A")
        client.setElicitationHandler { request ->
            val content = buildJsonObject {
                if (request.message.startsWith("Book ")) {
                    put("confirm", true)
                } else {
                    put("seat", "aisle")
                    put("room", "suite")
                    put("insurance", true)
                }
            }
            ElicitResult(ElicitResult.Action.Accept, content)
        }
        client.setRequestHandler<CreateMessageRequest>(Method.Defined.SamplingCreateMessage) { _, _ ->
            CreateMessageResult(Role.Assistant, TextContent("Take the first one."), "interop-model")
        }
        client.setNotificationHandler<LoggingMessageNotification>(Method.Defined.NotificationsMessage) {
            done { messages.trySend(it) }
        }
        client.setNotificationHandler<ToolListChangedNotification>(Method.Defined.NotificationsToolsListChanged) {
            done { changes.trySend(Unit) }
        }
        client.setNotificationHandler<ResourceUpdatedNotification>(Method.Defined.NotificationsResourcesUpdated) {
            done { updates.trySend(it.params.uri) }
        }
    }

    private fun done(body: () -> Unit): CompletableDeferred<Unit> {
        body()
        return CompletableDeferred(Unit)
    }

    private suspend fun tools() {
        step("tools/list") {
            val names = mutableListOf<String>()
            var cursor: String? = null
            do {
                val page = client.listTools(ListToolsRequest(PaginatedRequestParams(cursor)))
                names += page.tools.map { it.name }
                cursor = page.nextCursor
            } while (cursor != null)
            for (name in listOf("calculator_arithmetic", "book_trip", "countdown")) equal("$name among $names", name in names, true)
        }
        step("tools/call structured") {
            val r = call("calculator_arithmetic", "expression" to "2*(3+4)^2")
            equal("text", text(r), "98")
            if (o.sse == null) equal("structured content", r.structuredContent?.get("result").toString(), "98")
        }
        step("tools/call failing tool") {
            val r = call("calculator_arithmetic", "expression" to "1/0")
            equal("isError", r.isError, true)
            contains("text", text(r), "division by zero")
            val e = runCatching { call("no_such_tool") }.exceptionOrNull()
            contains("error", e.toString(), "no_such_tool")
        }
        step("tools/call in parallel") {
            coroutineScope {
                val results = (0..<20).map { n -> async { text(call("calculator_arithmetic", "expression" to "$n*2")) } }.awaitAll()
                equal("results", results, (0..<20).map { "${it * 2}" })
            }
        }
    }

    private suspend fun asking() {
        if (o.sse == null) { // 2024-11-05 has no elicitation
            step("elicitation") {
                contains("text", text(call("book_trip", "destination" to "Lisbon", "nights" to 2)), "ooked")
            }
        }
        step("sampling") {
            contains("text", text(call("recommend_flight", "origin" to "Zurich", "destination" to "New York")), "Take the first one.")
        }
        step("roots") {
            contains("text", text(call("list_workspace")), "file:///project/a")
        }
    }

    private suspend fun running() {
        step("progress") {
            val seen = mutableListOf<Double>()
            contains("text", text(call("countdown", "steps" to 4, "interval_ms" to 40) { seen += it }), "Counted down 4 steps")
            equal("progress", seen, listOf(1.0, 2.0, 3.0, 4.0))
        }
        step("logging") {
            client.setLoggingLevel(LoggingLevel.Info)
            call("countdown", "steps" to 2, "interval_ms" to 10)
            equal("level", messages.receive().params.level, LoggingLevel.Info)
            client.setLoggingLevel(LoggingLevel.Emergency)
        }
        step("cancellation") {
            coroutineScope {
                val running = async { call("countdown", "steps" to 1000, "interval_ms" to 30) }
                delay(200.milliseconds) // the call runs
                running.cancelAndJoin()
            }
            contains("next", text(call("countdown", "steps" to 1, "interval_ms" to 1)), "Counted down 1 steps")
        }
    }

    private suspend fun lists() {
        step("list changed") {
            call("test_trigger_tool_change")
            changes.receive()
        }
        step("prompts") {
            val names = mutableListOf<String>()
            var cursor: String? = null
            do {
                val page = client.listPrompts(ListPromptsRequest(PaginatedRequestParams(cursor)))
                names += page.prompts.map { it.name }
                cursor = page.nextCursor
            } while (cursor != null)
            equal("plan-vacation among $names", "plan-vacation" in names, true)
            val arguments = mapOf("destination" to "Lisbon", "days" to "3")
            val got = client.getPrompt(GetPromptRequest(GetPromptRequestParams("plan-vacation", arguments)))
            contains("prompt", (got.messages[0].content as TextContent).text, "3 days in Lisbon")
        }
        step("completion") {
            val argument = CompleteRequestParams.Argument("language", "Ja")
            val got = client.complete(CompleteRequest(CompleteRequestParams(argument, PromptReference("code_review"))))
            equal("values", got.completion.values, listOf("Java", "JavaScript"))
        }
    }

    private suspend fun resources() {
        val note = Path.of(o.dir!!, "note.txt").toAbsolutePath().toUri().toString()
        step("resources") {
            val names = mutableListOf<String>()
            var cursor: String? = null
            do {
                val page = client.listResources(ListResourcesRequest(PaginatedRequestParams(cursor)))
                names += page.resources.map { it.name }
                cursor = page.nextCursor
            } while (cursor != null)
            equal("note.txt among $names", "note.txt" in names, true)
            val read = client.readResource(ReadResourceRequest(ReadResourceRequestParams(note)))
            equal("text", (read.contents[0] as TextResourceContents).text, "first\n")
        }
        step("resources/subscribe") {
            client.subscribeResource(SubscribeRequest(SubscribeRequestParams(note)))
            Files.writeString(Path.of(o.dir, "note.txt"), "first\n")
            equal("URI", updates.receive(), note)
        }
    }

    /** Runs a call, and ends its replica once the stream of the call is open. */
    private suspend fun ended(way: String): CallToolResult = coroutineScope {
        val running = async { runCatching { call("countdown", "steps" to 30, "interval_ms" to 100) } }
        delay(1500.milliseconds)
        withContext(Dispatchers.IO) { post(way) }
        running.await().getOrThrow()
    }

    private suspend fun replicas(drain: String) {
        step("a replica drained in a call") {
            contains("text", text(ended(drain)), "Counted down 30 steps")
        }
        step("a call on the other replica") {
            equal("text", text(call("calculator_arithmetic", "expression" to "1+1")), "2")
        }
        step("a replica killed in a call") {
            withContext(Dispatchers.IO) { post("$drain/restore") }
            contains("text", text(ended("$drain/kill")), "Counted down 30 steps")
            equal("text", text(call("calculator_arithmetic", "expression" to "1+1")), "2")
        }
    }
}

fun main(args: Array<String>) {
    val o = Options(args)
    val jar = Path.of(Client::class.java.protectionDomain.codeSource.location.toURI()).fileName.toString()
    println("uses io.modelcontextprotocol:kotlin-sdk-client ${jar.removePrefix("kotlin-sdk-client-jvm-").removeSuffix(".jar")}")
    println("notes elicitation, sampling, roots: over Streamable HTTP it reads the response of a call when that has ended, so a tool that asks waits in vain")
    println("notes progress: over Streamable HTTP it is reported when the call ends")
    runBlocking { Visit(o).all() }
    exitProcess(0) // HTTP clients have threads of their own
}
