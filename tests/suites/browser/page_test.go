package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// calls is how many rows the list shows.
const calls = `[...document.querySelectorAll("#calls tr")].filter((r) => !r.hidden).length`

// row is the list's row, the newest one first, from 1 on.
func row(b *tab, n string) string { return b.text("#calls tr:nth-child(" + n + ")") }

// wants fails for each part that a text lacks.
func wants(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s lacks %q:\n%s", what, p, text)
		}
	}
}

// A call appears without reloading, and its waterfall leads from the client's request to the handler.
func TestCallAppears(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	wants(t, "the empty page", b.text("main"), "No calls yet")
	eval[bool](b, `globalThis.untouched = true`)
	callTool(t, e, "countdown", object{"steps": 4, "interval_ms": 50})
	b.until(calls + ` === 1 && document.querySelector("#calls .chip.ok")`)
	wants(t, "the row", row(b, "1"), "tools/call", "countdown", "trip-planner", "tools", "ms", "ok")
	b.click("#calls a")
	b.until(`document.querySelectorAll("#spans tr[data-id]").length === 3`)
	wants(t, "the call", b.text(".about"), "countdown", "ok", "trip-planner", modern)
	wants(t, "the waterfall", b.text("#spans"), "tools/call countdown", "ToolService/CallTool", "edge", "gRPC", "tools")
	type bar struct{ Left, Right, Width float64 }
	bars := eval[[]bar](b, `[...document.querySelectorAll(".span-bar")].map((n) => { const { left, right, width } = n.getBoundingClientRect(); return { Left: left, Right: right, Width: width }; })`)
	if len(bars) != 3 {
		t.Fatalf("%d bars, want 3", len(bars))
	}
	for i, inner := range bars[1:] {
		outer := bars[i]
		if inner.Width < 100 || inner.Left < outer.Left-1 {
			t.Errorf("bar %d is %+v, which does not begin within %+v", i+1, inner, outer)
		}
		// A handler's span ends when its process says so, which may be after the caller had the status.
		if handler := i+1 == len(bars)-1; !handler && inner.Right > outer.Right+1 {
			t.Errorf("bar %d is %+v, which does not end within %+v", i+1, inner, outer)
		}
	}
	if n := eval[int](b, `document.querySelectorAll("#spans .dot").length`); n != 4 {
		t.Errorf("%d events are marked, want the 4 of the progress", n)
	}
	wants(t, "the first span", b.text("#span"), "the edge (mcpedge)", "Arguments", `"steps": 4`, "Result", "Counted down 4 steps", "notifications/progress", "mcp.method.name")
	b.do(chromedp.Focus(chromedp.CSS("#spans button")))
	b.press(kb.ArrowDown)
	b.press(kb.ArrowDown)
	b.until(`document.querySelector("#span h3").classList.contains("backend")`)
	wants(t, "the handler's span", b.text("#span"), "the backend (tools)", "server", "rpc.method")
	if !eval[bool](b, `globalThis.untouched === true`) {
		t.Error("the page was loaded again")
	}
}

// What a call asked its user stands between its rounds, in both eras.
func TestRounds(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	bookTrip(t, e, 300*time.Millisecond)
	b.until(`document.querySelector("#calls .rounds")?.textContent === "3" && document.querySelector("#calls .chip.ok")`)
	b.click("#calls a")
	b.until(`document.querySelectorAll("#spans tr.round").length === 3`)
	wants(t, "the waterfall without a session", b.text("#spans"), "Round 1", "the client answers", "Round 2", "the client answered what was asked before", "Round 3")
	wants(t, "the call", b.text("#facts"), "waiting for answers")

	openSession(t, e).bookTrip(t, 300*time.Millisecond)
	b.until(calls + ` === 4 && document.querySelector("#calls tr:first-child .chip.ok")`)
	b.click("#calls tr:nth-child(1) a")
	b.until(`document.querySelectorAll("#spans tr.round").length === 3 && document.querySelector("#facts").textContent.includes("desk-assistant")`)
	wants(t, "the waterfall of a session", b.text("#spans"), "elicitation/create", "client", "Round 2", "the client answered what was asked before")
	if n := eval[int](b, `document.querySelectorAll("#spans .span-bar.wait").length`); n != 2 {
		t.Errorf("%d waits are drawn, want 2", n)
	}
	b.click("#spans tr.round:nth-of-type(6) + tr button")
	wants(t, "the second round", b.text("#span"), "Links", "the client answered what was asked before: tools/call book_trip")
	b.click("#span .goto")
	b.until(`document.querySelector("#spans tr.chosen") === document.querySelector("#spans tr[data-id]")`)
}

// A call is in the list before it has ended.
func TestUnfinishedCalls(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		callTool(t, e, "countdown", object{"steps": 20, "interval_ms": 100})
	}()
	b.until(`document.querySelector("#calls .chip.running")`)
	b.click("#calls a")
	b.until(`document.querySelectorAll("#spans .span-bar.running").length === 3`)
	<-ended
	b.until(`document.querySelector("#calls .chip.ok") && !document.querySelector("#spans .running")`)
	request(t, e, "tools/call", object{"name": "book_trip", "arguments": object{"destination": "Lisbon", "nights": 3}}, nil)
	b.until(`document.querySelector("#calls tr:first-child .chip.waiting")`)
	wants(t, "the row", row(b, "1"), "waiting for answers")
}

func TestFilter(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	callTool(t, e, "weather_current", object{"city": "Barcelona"})
	callTool(t, e, "calculator_arithmetic", object{"expression": "2/0"})
	callTool(t, e, "no_such_tool", object{})
	request(t, e, "tools/list", object{}, nil)
	b.until(calls + ` === 4`)
	b.click(`.choice label:nth-of-type(4)`)
	b.until(calls + ` === 2`)
	wants(t, "what failed", b.text("#calls"), "unknown tool", "tool error", "calculator_arithmetic")
	b.click(`.choice label:nth-of-type(2)`)
	b.until(calls + ` === 3`)
	b.press("/")
	b.until(`document.activeElement.id === "text"`)
	b.press(kb.Backspace) // a real keyboard would not have typed the key that the page has taken
	b.press("weather")
	b.until(calls + ` === 1`)
	wants(t, "the count", b.text("#count"), "1 of 4 calls")
	b.press(" in Atlantis")
	b.until(`!document.querySelector("#empty").hidden`)
	wants(t, "the page", b.text("#empty"), "No call matches")
}

// Held back while paused, and shown together afterwards.
func TestPause(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	b.click("#live")
	wants(t, "the button", b.text("#live"), "Paused")
	callTool(t, e, "weather_current", object{"city": "Barcelona"})
	// The page hears of it, as another one shows, and stays as it is.
	other := openTab(t, e.page)
	other.until(calls + ` === 1`)
	if n := eval[int](b, calls); n != 0 {
		t.Errorf("%d calls are shown while paused", n)
	}
	b.click("#live")
	b.until(calls + ` === 1`)
}

// The keyboard reaches everything, and the address names the call.
func TestKeyboard(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	callTool(t, e, "weather_current", object{"city": "Tokyo"})
	callTool(t, e, "weather_current", object{"city": "Barcelona"})
	b.until(calls + ` === 2`)
	b.do(chromedp.Focus(chromedp.CSS("#calls a")))
	b.press(kb.ArrowDown)
	b.press(kb.Enter)
	b.until(`document.querySelector("#span pre")?.textContent.includes("Tokyo")`)
	b.do(chromedp.Reload())
	b.until(`document.querySelector("#span pre")?.textContent.includes("Tokyo") && document.querySelector("#calls tr.chosen")`)
	b.press(kb.Escape)
	b.until(`document.querySelector("#detail").hidden && document.activeElement.matches("#calls tr:nth-child(2) a")`)
	b.do(chromedp.NavigateBack())
	b.until(`!document.querySelector("#detail").hidden`)
}

// What clients and backends choose is text, whatever it looks like.
func TestNamesAreText(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	const evil = `<img src=x onerror="globalThis.hit=1">`
	callTool(t, e, "weather_current", object{"city": evil})
	request(t, e, "resources/read", object{"uri": "docs://" + evil}, object{
		"io.modelcontextprotocol/clientInfo": object{"name": evil, "version": "1"}})
	b.until(calls + ` === 2`)
	wants(t, "the list", b.text("#calls"), evil)
	b.click("#calls tr:nth-child(2) a")
	b.until(`document.querySelector("#span pre")?.textContent.includes("onerror")`)
	if eval[bool](b, `document.querySelector("main img, .about img, aside img") !== null || "hit" in globalThis`) {
		t.Error("a name became markup")
	}
}

// The pictures of the documentation, where DEV_PICTURES says to make them; the page is right in each.
func TestPictures(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	request(t, e, "tools/list", object{}, nil)
	callTool(t, e, "weather_current", object{"city": "Barcelona"})
	callTool(t, e, "calculator_arithmetic", object{"expression": "2/0"})
	callTool(t, e, "no_such_tool", object{})
	callTool(t, e, "search_flights", object{"origin": "ZRH", "destination": "Lisbon"})
	openSession(t, e).bookTrip(t, 700*time.Millisecond)
	request(t, e, "resources/read", object{"uri": "docs://mcpedge/backends.md"}, nil)
	callTool(t, e, "countdown", object{"steps": 6, "interval_ms": 60})
	bookTrip(t, e, 900*time.Millisecond)
	callTool(t, e, "calculator_arithmetic", object{"expression": "2^10 + sqrt(2)"})
	b.until(calls + ` === 12`)
	for scheme, suffix := range map[string]string{"light": "", "dark": "-dark"} {
		b.scheme(scheme)
		b.picture("dev-list" + suffix)
		b.click("#calls tr:nth-child(3) a")
		b.until(`document.querySelectorAll("#spans .dot").length === 6`)
		b.picture("dev-progress" + suffix)
		b.click("#calls tr:nth-child(2) a")
		b.until(`document.querySelectorAll("#spans tr.round").length === 3`)
		b.picture("dev" + suffix)
		for _, size := range [][2]int64{{width, height}, {600, 800}} {
			b.resize(size[0], size[1])
			if eval[bool](b, `document.documentElement.scrollWidth > innerWidth`) {
				t.Errorf("%s, %d pixels wide: the page is wider", scheme, size[0])
			}
		}
		b.picture("dev-narrow" + suffix)
		b.resize(width, height)
		b.click("#close")
	}
}
