package browser

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// startProgram starts a server on an address of its own, which flags are made of, and ends it with the test.
func startProgram(t *testing.T, program string, flags func(host, port string) []string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	host, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(program, flags(host, port)...)
	cmd.Env, cmd.Dir = withoutOTel(os.Environ()), t.TempDir()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			_ = c.Close()
			return addr
		}
		if time.Since(began) > patience {
			t.Fatalf("%s does not listen on %s after %s", program, addr, patience)
		}
	}
}

// taskFlags are those of edges with tools that may be tasks.
func taskFlags(t *testing.T) []string {
	t.Helper()
	program := os.Getenv("EVERYTHING_BINARY")
	if program == "" {
		t.Fatal("EVERYTHING_BINARY names no binary: run make stages ONLY=browser")
	}
	addr := startProgram(t, program, func(host, port string) []string { return []string{"--listen", net.JoinHostPort(host, port)} })
	return []string{"--dev", "--backend=jobs=" + addr}
}

// withTasks declares the extension.
var withTasks = object{"io.modelcontextprotocol/clientCapabilities": object{
	"elicitation": object{"form": object{}}, "extensions": object{"io.modelcontextprotocol/tasks": object{}},
}}

// beginTask makes a task and gives its id.
func beginTask(t *testing.T, e edge, tool string, arguments object) string {
	t.Helper()
	answer := request(t, e, "tools/call", object{"name": tool, "arguments": arguments}, withTasks)
	result, _ := answer["result"].(object)
	id, _ := result["taskId"].(string)
	if id == "" {
		t.Fatalf("%s made no task: %v", tool, answer)
	}
	return id
}

// answerTask answers all that a task asks, when it does.
func answerTask(t *testing.T, e edge, id string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(150 * time.Millisecond) {
		result, _ := request(t, e, "tasks/get", object{"taskId": id}, withTasks)["result"].(object)
		questions, _ := result["inputRequests"].(object)
		if len(questions) == 0 {
			continue
		}
		answers := object{}
		for key := range questions {
			answers[key] = object{"action": "accept", "content": object{"answer": "yes"}}
		}
		request(t, e, "tasks/update", object{"taskId": id, "inputResponses": answers}, withTasks)
		return
	}
	t.Fatalf("the task asked nothing within %s", patience)
}

// taskRow is the row of a task in the list.
func taskRow(id string) string { return `#calls tr[data-id="task-` + id + `"]` }

// runs is how many the details show of a task.
const runs = `document.querySelectorAll("#runs tr").length`

// A task that asks is seen with two runs, live, each of which leads to its spans.
func TestTaskThatAsks(t *testing.T) {
	e := startEdge(t, taskFlags(t)...)
	b := openTab(t, e.page)
	id := beginTask(t, e, "confirm_delete", object{"filename": "plans.txt"})
	b.until(`document.querySelector('` + taskRow(id) + ` .chip.waiting')`)
	wants(t, "the row", b.text(taskRow(id)), "task", "confirm_delete", id[len(id)-8:], "trip-planner", "waiting for answers")
	b.click(`.choice label:nth-of-type(3)`)
	b.until(calls + ` === 1`)
	b.click(taskRow(id) + " a")
	b.until(runs + ` === 1 && document.querySelectorAll("#steps tr").length === 1`)
	wants(t, "the runs", b.text("#runs"), "here", "it waited for answers", "waterfall")
	wants(t, "the question", b.text("#steps"), "Delete plans.txt?", "asks", "elicitation/create")
	wants(t, "the head", b.text(".about"), id, "confirm_delete", "Attempt", "Age")
	answerTask(t, e, id)
	b.until(runs + ` === 2 && document.querySelector('` + taskRow(id) + ` .chip.ok') && document.querySelector("#detailOutcome .chip.ok")`)
	wants(t, "the runs", b.text("#runs"), "it waited for answers", "the task completed")
	wants(t, "the question", b.text("#steps"), "asked")
	// Each run leads to its spans, and back.
	if n := eval[int](b, `document.querySelectorAll("#runs a").length`); n != 2 {
		t.Fatalf("%d runs lead to spans, want 2", n)
	}
	for run := 1; run <= 2; run++ {
		b.click(fmt.Sprintf("#runs tr:nth-child(%d) a", run))
		b.until(`!document.querySelector("#panes").hidden && document.querySelector("#task").hidden && document.querySelector("#spans").textContent.includes("ToolService/CallTool")`)
		b.do(chromedp.NavigateBack())
		b.until(`document.querySelector("#panes").hidden && ` + runs + ` === 2`)
	}
	b.do(chromedp.Reload())
	b.until(runs + ` === 2`)
	// By keyboard: from the row to the runs, and out.
	b.do(chromedp.Focus(chromedp.CSS(taskRow(id) + " a")))
	b.tabTo("close")
	b.tabTo("task")
	b.tabTo("goto")
	b.press(kb.Escape)
	b.until(`document.querySelector("#detail").hidden && document.activeElement.closest("tr")?.dataset.id === "task-` + id + `"`)
}

// The page of another replica shows a run that was lost with its replica, and the one that goes on.
func TestTaskOfLostReplica(t *testing.T) {
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is not installed (on Debian: apt-get install redis-server)")
	}
	addr := startProgram(t, redis, func(host, port string) []string {
		return []string{"--bind", host, "--port", port, "--save", "", "--appendonly", "no"}
	})
	flags := append(taskFlags(t), "--redis=redis://"+addr)
	north, south := startEdge(t, append(flags, "--replica=north")...), startEdge(t, append(flags, "--replica=south")...)
	id := beginTask(t, north, "slow_compute", object{"seconds": 8, "label": "tides"})
	b := openTab(t, south.page)
	request(t, south, "tasks/get", object{"taskId": id}, withTasks)
	b.until(`document.querySelector('` + taskRow(id) + ` .chip.running')`)
	b.click(taskRow(id) + " a")
	b.until(runs + ` === 1`)
	wants(t, "the runs before the loss", b.text("#runs"), "north", "goes on")
	b.until(`document.querySelector("#steps").textContent.includes("Computing tides")`)
	north.kill()
	b.until(runs + ` === 2`)
	wants(t, "the runs after the loss", b.text("#runs"), "north", "its replica was lost", "south", "here", "goes on", "waterfall")
	wants(t, "the row", b.text(taskRow(id)), "attempt 2")
	b.until(`document.querySelector("#detailOutcome .chip.ok")`)
	wants(t, "the runs at the end", b.text("#runs"), "its replica was lost", "the task completed")
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.picture("task-" + scheme)
		for _, size := range [][2]int64{{600, 800}, {width, height}} {
			b.resize(size[0], size[1])
			if eval[bool](b, `document.documentElement.scrollWidth > innerWidth || document.querySelector("#task").scrollWidth > document.querySelector("#task").clientWidth`) {
				t.Errorf("%s, %d pixels wide: the page is wider", scheme, size[0])
			}
			if size[0] < width {
				b.picture("task-narrow-" + scheme)
			}
		}
	}
	if said := b.text("#runs"); strings.Count(said, "· here") != 1 {
		t.Errorf("not one run was here: %s", said)
	}
}
