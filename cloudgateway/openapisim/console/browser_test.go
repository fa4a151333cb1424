package console_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
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

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// installHint is what a machine without a browser needs.
const installHint = "install Chromium: apt-get install -y --no-install-recommends chromium"

// browser is a tab of a headless Chromium that remembers what must not happen.
type browser struct {
	t   *testing.T
	ctx context.Context // of the tab; chromedp passes it as a context only

	mu       sync.Mutex
	problems []string // messages on the console and exceptions
	requests []string // URLs
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no browser to test with; %s", installHint)
		}
		t.Skipf("no browser to test with; %s", installHint)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1440, 1000),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
	)
	allocated, release := chromedp.NewExecAllocator(t.Context(), options...)
	limited, cancel := context.WithTimeout(allocated, time.Minute)
	tab, closeTab := chromedp.NewContext(limited)
	b := &browser{t: t, ctx: tab}
	t.Cleanup(func() {
		_ = chromedp.Cancel(tab) // waits for the browser to be gone; the rest cleans up after a failure
		closeTab()
		cancel()
		release()
	})
	if err := chromedp.Listen(tab, b.listen); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	if _, err := chromedp.Call(tab, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(tab, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.problems = append(b.problems, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, fmt.Sprintf("console.%s", e.Type))
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) read(a chromedp.Action[string]) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, a)
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// wait returns when an expression of JavaScript is true.
func (b *browser) wait(expression string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(15*time.Second))); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("body"))) // to tell why; the first error counts
		b.t.Fatalf("wait for %s: %v\n%s", expression, err, text)
	}
}

func shows(part, text string) string {
	return fmt.Sprintf("document.getElementById(%q).textContent.includes(%q)", "part-"+part, text)
}

// check fails the test if anything was reported, or asked for from elsewhere.
func (b *browser) check(origin string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		b.t.Errorf("the browser reports %s", problem)
	}
	for _, url := range b.requests {
		if !strings.HasPrefix(url, origin+"/console") {
			b.t.Errorf("the page asks for %s", url)
		}
	}
	if len(b.requests) < 4 { // page, script, style, stream
		b.t.Errorf("only %d requests were seen: %v", len(b.requests), b.requests)
	}
}

func newCloud(t *testing.T) *openapisim.Simulator {
	t.Helper()
	fast := api.FastSettings()
	return openapisimtest.New(t, openapisim.Config{Settings: &fast, Seed: &state.Cloud{
		Vpcs:      map[string]*state.Vpc{"vpc-1": {CidrBlock: "192.168.0.0/16"}},
		VSwitches: map[string]*state.VSwitch{"vsw-1": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/24"}},
		Instances: map[string]*state.Instance{"i-node1": {VSwitchID: "vsw-1", PrivateIPs: []string{"192.168.0.11"}}},
	}})
}

// A load balancer that is created while the page is open appears by itself, and so does the call that made it. Filters change what
// is shown and the address of the page, not the page.
func TestBrowser(t *testing.T) {
	t.Parallel()
	b, sim := newBrowser(t), newCloud(t)
	cloud := newClient(t, sim)
	b.do(chromedp.Navigate(sim.Admin() + "/console"))
	b.wait(`document.getElementById("live").textContent === "live"`)
	b.wait(shows("instances", "i-node1"))
	b.wait(shows("routes", "192.168.0.0/24"))
	b.wait(shows("calls", "No calls yet."))
	b.do(chromedp.Evaluate[chromedp.Void](`window.sameDocument = true`))

	id := cloud.must("LoadBalancerId", "CreateLoadBalancer", "LoadBalancerName", "<b>web</b>", "LoadBalancerSpec", "slb.s1.small", "AddressType", "internet")
	b.wait(shows("balancers", id))
	b.wait(shows("balancers", "<b>web</b>"))
	b.wait(shows("calls", "CreateLoadBalancer"))
	b.wait(shows("rates", "60/min"))
	group := cloud.must("VServerGroupId", "CreateVServerGroup", "LoadBalancerId", id, "VServerGroupName", "http",
		"BackendServers", `[{"ServerId":"i-node1","Port":30080,"Weight":77,"Type":"ecs"}]`)
	cloud.must("", "CreateLoadBalancerTCPListener", "LoadBalancerId", id, "ListenerPort", "8443", "VServerGroupId", group, "Bandwidth", "-1")
	cloud.must("", "StartLoadBalancerListener", "LoadBalancerId", id, "ListenerPort", "8443")
	for _, text := range []string{":8443", "running", "192.168.0.11:30080", "77", "1 of 1 healthy"} {
		b.wait(shows("balancers", text))
	}

	link := `#part-balancers a[href="?search=` + id + `"]`
	b.do(chromedp.Focus(chromedp.CSS(link)))
	cloud.must("", "SetLoadBalancerName", "LoadBalancerId", id, "LoadBalancerName", "renamed")
	b.wait(shows("balancers", "renamed") + " && document.activeElement === document.querySelector(`" + link + "`)")

	b.do(chromedp.Click(chromedp.CSS(link)), chromedp.WaitVisible(chromedp.CSS(`#search[value="`+id+`"]`)))
	b.wait(`document.getElementById("live").textContent === "live"`)
	b.wait(shows("balancers", "1 load balancer") + " && " + shows("instances", "No instances"))
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("search").value = ""; window.sameDocument = true`))
	b.do(chromedp.SendKeys(chromedp.CSS(`input[name="action"]`), "vservergroup"))
	b.wait(shows("calls", "The latest 1 of 1 that match, of 5 in all."))
	b.wait(`location.search === "?action=vservergroup"`)
	b.do(chromedp.Click(chromedp.CSS(`input[name="errors"]`)))
	b.wait(shows("calls", "None of 5 calls matches."))
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "no such thing"))
	b.wait(shows("balancers", "No load balancer has “no such thing”."))
	b.do(chromedp.Click(chromedp.CSS("#pause")))
	b.wait(`document.getElementById("live").textContent === "paused"`)
	b.do(chromedp.Click(chromedp.CSS("#pause")))
	b.wait(`document.getElementById("live").textContent === "live" && window.sameDocument`)

	b.do(chromedp.Reload())
	b.wait(shows("balancers", "No load balancer has “no such thing”."))
	b.wait(`document.querySelector("input[name=errors]").checked && !window.sameDocument`)
	b.check(sim.Admin())
}

// Without its script the page shows the same, and its filters are sent by a button.
func TestBrowserWithoutScript(t *testing.T) {
	t.Parallel()
	b, sim := newBrowser(t), newCloud(t)
	newClient(t, sim).must("", "DescribeLoadBalancers")
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(sim.Admin() + "/console?search=node1"))
	for part, want := range map[string]string{"instances": "i-node1", "routes": "No routes", "calls": "DescribeLoadBalancers"} {
		if got := b.read(chromedp.Text(chromedp.CSS("#part-" + part))); !strings.Contains(got, want) {
			t.Errorf("%s shows %q, want %q", part, got, want)
		}
	}
	b.do(
		chromedp.Click(chromedp.CSS(`#calls input[name="errors"]`)), chromedp.Click(chromedp.CSS("#query button")),
		chromedp.WaitVisible(chromedp.CSS(`#calls input[name="errors"][checked]`)),
	)
	url, empty := b.read(chromedp.Location()), b.read(chromedp.Text(chromedp.CSS("#part-calls")))
	if !strings.HasSuffix(url, "?search=node1&product=&action=&caller=&errors=1") || !strings.Contains(empty, "None of 1 calls matches.") {
		t.Errorf("%s shows %q", url, empty)
	}
}
