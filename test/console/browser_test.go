package console_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/lethe-storage/lethe/test/servers"
)

// shots is where pictures of the pages go.
var shots = flag.String("console.shots", "", "write pictures of the pages into this folder")

// farHost is a name by which browsers reach the console as on another machine.
const farHost = "lethe.example.org"

// patience bounds what a browser takes; it waits for nothing else by time.
const patience = 2 * time.Minute

// browser is a tab of Chromium, with what went wrong on its pages.
type browser struct {
	w   *world
	ctx context.Context

	mu       sync.Mutex
	problems []string
}

// open starts a browser. Its pages may ask the console only, and leave no error.
func open(w *world) *browser {
	w.t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(servers.Chromium(w.t)), chromedp.UserDataDir(w.t.TempDir()),
		chromedp.WindowSize(1280, 860), chromedp.Flag("force-color-profile", "srgb"), chromedp.Flag("host-resolver-rules", "MAP "+farHost+" 127.0.0.1"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewExecAllocator(w.ctx, options...)
	w.t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	w.t.Cleanup(end)
	b := &browser{w: w, ctx: ctx}
	b.do()
	w.must(chromedp.Listen(ctx, b.watch))
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	w.t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			w.t.Error(p)
		}
	})
	return b
}

// watch notes requests to other hosts, and errors.
func (b *browser) watch(event any) {
	problem := ""
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if url := e.Request.URL; !strings.HasPrefix(url, b.w.url+"/") && url != b.w.url && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "about:") {
			problem = "a page asked " + url
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = fmt.Sprintf("the browser says: %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		problem = "a script failed: " + e.ExceptionDetails.Text
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			problem = "a script complains"
		}
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.w.t.Helper()
	ctx := b.ctx
	if chromedp.FromContext(ctx).Target != nil { // the first call's context is the browser's life
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.w.t.Fatal(err)
	}
}

// call sends a command of the browser's protocol.
func call[P, R any](b *browser, cmd cdp.Command[P, R], params P) {
	b.w.t.Helper()
	if _, err := chromedp.Call(b.ctx, cmd, params); err != nil {
		b.w.t.Fatal(err)
	}
}

// get returns the value of an action.
func get[T any](b *browser, a chromedp.Action[T]) T {
	b.w.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, a)
	if err != nil {
		b.w.t.Fatal(err)
	}
	return out
}

// visit opens a page of the console.
func (b *browser) visit(path string) {
	b.w.t.Helper()
	b.do(chromedp.Navigate(b.w.url+path), chromedp.WaitReady("main"))
}

// login logs in by the form.
func (b *browser) login(key, secret string) {
	b.w.t.Helper()
	b.visit("/login")
	b.do(chromedp.SendKeys("#key", key), chromedp.SendKeys("#secret", secret))
	b.submit("button.main")
}

// submit clicks, and waits for the page that follows.
func (b *browser) submit(selector string) {
	b.w.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(selector)); err != nil {
		b.w.t.Fatalf("%s: %v", selector, err)
	}
}

// text returns what an element says.
func (b *browser) text(selector string) string {
	b.w.t.Helper()
	return get(b, chromedp.Text(selector))
}

// eval returns the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.w.t.Helper()
	return get(b, chromedp.Evaluate[T](expression))
}

// look sets the size of the window and the colours that the browser prefers.
func (b *browser) look(width int64, scheme string) {
	b.w.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 860, DeviceScaleFactor: 1, Mobile: width < 600})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// fits reports a page that is wider than its window, and a table that need not scroll and does.
func (b *browser) fits(what string) {
	b.w.t.Helper()
	if wide := eval[string](b, "[...document.querySelectorAll('.folds')].map(t => t.parentElement).filter(e => e.scrollWidth > e.clientWidth).map(e => e.ariaLabel).join()"); wide != "" {
		b.w.t.Errorf("%s: the table %s is wider than its place", what, wide)
	}
	if over := eval[float64](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); over > 0 {
		b.w.t.Errorf("%s: the page is %v wider than the window", what, over)
	}
}

// shoot writes a picture of the page, if pictures are asked for.
func (b *browser) shoot(name string) {
	b.w.t.Helper()
	if *shots != "" {
		b.w.must(os.WriteFile(filepath.Join(*shots, name+".png"), get(b, chromedp.FullScreenshot(100)), 0o600))
	}
}

// views are the sizes and colours in which pages are looked at.
var views = []struct {
	name   string
	width  int64
	scheme string
}{{"wide-light", 1280, "light"}, {"wide-dark", 1280, "dark"}, {"narrow-light", 390, "light"}, {"narrow-dark", 390, "dark"}}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}
