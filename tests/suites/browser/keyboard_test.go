package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focus is where the keyboard is, as a person sees it.
type focus struct {
	// What is the element: its id, else its classes, else its name.
	What string
	// Text of it.
	Text string
	// Seen: it is in the window, nothing covers its middle, and the mark of the focus is drawn.
	Seen bool
}

// focused says where the keyboard is. The radio buttons are drawn by what stands beside them.
func focused(b *tab) focus {
	b.t.Helper()
	return eval[focus](b, `(() => {
		const at = document.activeElement;
		if (!at || at === document.body) return { What: "", Text: "", Seen: false };
		const drawn = at.type === "radio" ? at.nextElementSibling : at;
		const r = drawn.getBoundingClientRect();
		const on = document.elementFromPoint(r.left + Math.min(r.width, innerWidth) / 2, r.top + Math.min(r.height, innerHeight - r.top) / 2);
		const style = getComputedStyle(drawn);
		const whole = r.width > 4 && r.height > 4 && r.left >= 0 && r.top >= 0 && r.right <= innerWidth + 1 && r.bottom <= innerHeight + 1;
		return {
			What: at.id || at.classList[0] || at.localName, Text: at.textContent.trim() || at.value || "",
			Seen: whole && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && (drawn.contains(on) || at.contains(on)),
		};
	})()`)
}

// tabTo presses Tab and wants to be there.
func (b *tab) tabTo(what string) {
	b.t.Helper()
	b.press(kb.Tab)
	if f := focused(b); f.What != what || !f.Seen {
		b.t.Fatalf("Tab leads to %+v, want %s, seen", f, what)
	}
}

// on wants the keyboard to be at the list's row, the newest one first, from 1 on.
func (b *tab) on(n int) {
	b.t.Helper()
	if !eval[bool](b, fmt.Sprintf(`document.activeElement.matches("#calls tr:nth-child(%d) a")`, n)) {
		b.t.Fatalf("the keyboard is at %+v, want row %d", focused(b), n)
	}
	if f := focused(b); !f.Seen {
		b.t.Fatalf("the keyboard is at %+v, which cannot be seen", f)
	}
}

// From the first key on, every stop is seen, and the list and the waterfall are one stop each, whatever is in them.
func TestKeyboardFromTheStart(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	b.tabTo("skip")
	b.press(kb.Enter)
	if f := focused(b); f.What != "list" || !f.Seen {
		t.Fatalf("without calls, the keyboard is led to %+v, want the list", f)
	}
	bookTrip(t, e, 0)
	for _, city := range []string{"Tokyo", "Barcelona"} {
		callTool(t, e, "weather_current", object{"city": city})
	}
	b.until(calls + ` === 3`)
	b.tabTo("call")
	b.on(1)
	b.do(chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("#live[data-state=on]")))
	b.until(calls + ` === 3`)
	for _, stop := range []string{"skip", "text", "input", "live", "call"} {
		b.tabTo(stop)
	}
	b.on(1)
	for _, step := range []struct {
		key string
		row int
	}{{kb.ArrowDown, 2}, {kb.End, 3}, {kb.ArrowDown, 3}, {kb.ArrowUp, 2}, {kb.Home, 1}, {kb.ArrowUp, 1}, {kb.End, 3}} {
		b.press(step.key)
		b.on(step.row)
	}
	b.press(kb.Enter)
	b.until(`document.querySelectorAll("#spans tr.round").length === 3`)
	b.on(3)
	b.tabTo("close")
	b.tabTo("role")
	for _, step := range []string{kb.ArrowDown, kb.End, kb.Home, kb.ArrowDown} {
		before := focused(b).Text
		b.press(step)
		if f := focused(b); f.What != "role" || !f.Seen || f.Text == before {
			t.Fatalf("in the waterfall a key leads from %q to %+v", before, f)
		}
	}
	b.tabTo("span")
	// A link of a span leads to another span, and the keyboard with it.
	eval[bool](b, `Boolean([...document.querySelectorAll("#spans tr[data-id] button")].findLast((n) => n.textContent.includes("tools/call")).click())`)
	b.until(`document.querySelector("#span .goto")`)
	b.do(chromedp.Focus(chromedp.CSS("#span .goto")))
	b.press(kb.Enter)
	if f := focused(b); f.What != "role" || !f.Seen {
		t.Fatalf("a link leads the keyboard to %+v, want the span", f)
	}
	b.press(kb.Escape)
	b.on(3)
	b.do(chromedp.NavigateBack())
	b.until(`!document.querySelector("#detail").hidden`)
	b.do(chromedp.Focus(chromedp.CSS("#close")))
	b.do(chromedp.NavigateBack())
	b.until(`document.querySelector("#detail").hidden`)
	b.on(3)
}

// What comes, changes and goes while somebody is in the list leaves the keyboard where it is, in sight.
func TestKeyboardStaysWhileCallsCome(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	done := make(chan struct{})
	go func() {
		defer close(done)
		callTool(t, e, "countdown", object{"steps": 15, "interval_ms": 100})
	}()
	b.until(`document.querySelector("#calls .chip.running")`)
	b.tabTo("skip")
	b.press(kb.Enter)
	b.on(1)
	for range 40 {
		request(t, e, "tools/list", object{}, nil)
	}
	<-done
	b.until(calls + ` === 41 && document.querySelector("#calls tr:last-child .chip.ok")`)
	b.on(41)
	if f := focused(b); !strings.Contains(f.Text, "countdown") {
		t.Errorf("the keyboard is at %+v, want the call that it was at", f)
	}
	// Row by row to the top, none below the head of the list.
	for row := 40; row > 0; row-- {
		b.press(kb.ArrowUp)
		b.on(row)
	}
	b.press(kb.ArrowDown)
	// A call that is kept no longer, or that the filter hides, leaves the keyboard at its neighbour.
	drop := func(what string) {
		t.Helper()
		eval[bool](b, `Boolean((async () => { const id = document.activeElement.closest("tr").dataset.id; const list = await import("/dev/list.js"); `+what+` })())`)
	}
	drop(`list.change([], [id], true)`)
	b.until(calls + ` === 40`)
	b.on(2)
	b.press(kb.End)
	drop(`list.change([], [id], true)`)
	b.until(calls + ` === 39`)
	b.on(39)
	b.press(kb.Home)
	callTool(t, e, "weather_current", object{"city": "Tokyo"})
	b.until(calls + ` === 40`)
	drop(`list.filter("weather", "all")`)
	b.until(calls + ` === 1`)
	b.on(1)
	drop(`list.reset([])`)
	b.until(`!document.querySelector("#empty").hidden`)
	if f := focused(b); f.What != "list" || !f.Seen {
		t.Errorf("without calls the keyboard is at %+v, want the list", f)
	}
}

// The pictures of the keyboard's stops, for whoever looks at them; each is seen in both schemes.
func TestKeyboardPictures(t *testing.T) {
	e := startEdge(t)
	b := openTab(t, e.page)
	bookTrip(t, e, 0)
	callTool(t, e, "calculator_arithmetic", object{"expression": "2/0"})
	b.until(calls + ` === 2`)
	b.click("#calls tr:nth-child(2) a")
	b.until(`document.querySelectorAll("#spans tr.round").length === 3`)
	for _, scheme := range []string{"light", "dark"} {
		b.scheme(scheme)
		b.do(chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("#live[data-state=on]")))
		b.until(calls + ` === 2 && document.querySelectorAll("#spans tr.round").length === 3`)
		var stops []string
		for i := range 12 {
			b.press(kb.Tab)
			f := focused(b)
			if f.What == "" {
				break // out of the page
			}
			if !f.Seen {
				t.Errorf("%s: stop %d is %+v, which cannot be seen", scheme, i+1, f)
			}
			stops = append(stops, f.What)
			b.picture(fmt.Sprintf("keyboard-%s-%d-%s", scheme, i+1, f.What))
		}
		if want := []string{"skip", "text", "input", "live", "call", "close", "role", "span"}; !slices.Equal(stops[:min(len(stops), len(want))], want) {
			t.Errorf("%s: the stops are %q, want %q first", scheme, stops, want)
		}
	}
}
