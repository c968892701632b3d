package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// tab is a page of a headless Chromium of its own.
type tab struct {
	t   *testing.T
	ctx context.Context
}

const width, height = 1360, 860

// openTab opens a page. It ends with the test, which fails if the console has complained.
func openTab(t *testing.T, url string) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.WindowSize(width, height))
	if os.Geteuid() == 0 { // Chromium's sandbox refuses to run as root
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	b := &tab{t: t, ctx: ctx}
	b.resize(width, height)
	console := make(chan string, 100)
	go func() {
		defer close(console)
		for m, err := range chromedp.Console(ctx) {
			if err != nil {
				return
			}
			console <- m.String() + " " + m.URL
		}
	}()
	t.Cleanup(func() {
		closeTab()
		for said := range console {
			t.Errorf("the console says: %s", said)
		}
	})
	b.do(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("#live[data-state=on]")))
	return b
}

// resize gives the page so many pixels. Where DEV_PICTURES asks for pictures, they are drawn twice as fine.
func (b *tab) resize(width, height int64) {
	b.t.Helper()
	scale := 1.0
	if os.Getenv("DEV_PICTURES") != "" {
		scale = 2
	}
	b.do(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(scale)))
}

// patience bounds everything that is waited for.
const patience = time.Minute

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for _, action := range actions {
		run(b, action)
	}
}

func run[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	// The first action starts the browser, which would end with the action's deadline.
	if chromedp.FromContext(b.ctx).Target == nil {
		if err := chromedp.Do(b.ctx); err != nil {
			b.t.Fatalf("Chromium: %v (on Debian: apt-get install chromium)", err)
		}
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return value
}

// until waits until an expression is true in the page.
func (b *tab) until(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool]("Boolean("+expression+")", chromedp.WithPollingMutation())); err != nil {
		b.t.Fatalf("never true in the page: %s: %v\nIt shows:\n%s", expression, err, b.text("body"))
	}
}

// text is what a person reads of an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return run(b, chromedp.Text(chromedp.CSS(selector)))
}

// eval gives the value of an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return run(b, chromedp.Evaluate[T](expression))
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

func (b *tab) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// scheme has the page light or dark, and nothing in it move.
func (b *tab) scheme(name string) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	}))
}

// picture writes what is to be seen to DEV_PICTURES/name.png, where that names a directory.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("DEV_PICTURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), run(b, chromedp.CaptureScreenshot()), 0o644); err != nil {
		b.t.Fatal(err)
	}
}
