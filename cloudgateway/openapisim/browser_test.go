//go:build unix

package openapisim_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// browser is a headless Chromium, spoken to over the pipe of its DevTools protocol: what it says of a page is what people see.
type browser struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	session string
	seq     int
}

// newBrowser starts one with an empty page.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-headless-shell", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		t.Skip("there is no browser; Debian has one in its package chromium, or chromium-headless-shell")
	}
	theirIn, in := pipe(t)
	out, theirOut := pipe(t)
	// Not the test's context: that ends before the cleanups, and would kill the browser while its children write the profile.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	cmd.Stderr = new(bytes.Buffer)                 // Wait waits for the children, too: they have it open
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = theirIn.Close(), theirOut.Close()
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		_, _ = in.Write([]byte(`{"id":0,"method":"Browser.close"}` + "\x00"))
		kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the browser was not closed: %v", err)
		}
	})
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	b.session, _ = b.call("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// call calls a method of the protocol and returns its result. Events are passed over.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.seq++
	message := map[string]any{"id": b.seq, "method": method, "params": params}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		line, err := b.out.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: the browser is gone: %v", method, err)
		}
		var answer struct {
			ID            int
			Result, Error map[string]any
		}
		if err := json.Unmarshal(line[:len(line)-1], &answer); err != nil {
			b.t.Fatal(err)
		}
		if answer.ID == b.seq {
			if answer.Error != nil && method != "Runtime.evaluate" { // that fails while a page goes
				b.t.Fatalf("%s: %v", method, answer.Error)
			}
			return answer.Result
		}
	}
}

// eval returns the value of an expression in the page, as text.
func (b *browser) eval(format string, args ...any) string {
	b.t.Helper()
	result := b.call("Runtime.evaluate", map[string]any{"expression": fmt.Sprintf(format, args...)})
	value, _ := result["result"].(map[string]any)
	return fmt.Sprint(value["value"])
}

// wait waits until an expression is true.
func (b *browser) wait(format string, args ...any) {
	b.t.Helper()
	for until := time.Now().Add(30 * time.Second); b.eval(format, args...) != "true"; <-time.After(20 * time.Millisecond) {
		if time.Now().After(until) {
			b.t.Fatalf(format+" never; the page is %s", append(args, b.eval("location.href + ' ' + document.body.innerText"))...)
		}
	}
}

// open loads a page.
func (b *browser) open(url string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": url})
	b.wait("location.href === %q && document.readyState === 'complete'", url)
}

// click follows a link by its text.
func (b *browser) click(text string) {
	b.t.Helper()
	before := b.eval("location.href")
	b.wait("(() => { for (const a of document.links) { if (a.innerText === %q) { setTimeout(() => a.click()); return "+
		"true } } return false })()", text)
	b.wait("location.href !== %q && document.readyState === 'complete'", before)
}

// lines are the texts of all elements that a selector finds, with blanks where cells meet.
func (b *browser) lines(selector string) []string {
	b.t.Helper()
	text := b.eval("[...document.querySelectorAll(%q)].map(e => e.innerText.replace(/\\s+/g, ' ').trim()).join('\\n')", selector)
	return strings.Split(text, "\n")
}

// screenshot takes a picture of the window, and keeps it in the directory that SCREENSHOTS names.
func (b *browser) screenshot(name string) image.Image {
	b.t.Helper()
	data, _ := b.call("Page.captureScreenshot", map[string]any{"format": "png"})["data"].(string)
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), raw, 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		b.t.Fatal(err)
	}
	return picture
}

// painted counts the points of a picture, within the first element that a selector finds, that have the element's colour.
func (b *browser) painted(picture image.Image, selector string) (points int) {
	b.t.Helper()
	var x, y, w, h float64
	text := b.eval("(r => [r.x, r.y, r.width, r.height].join(' '))(document.querySelector(%q).getBoundingClientRect())", selector)
	if _, err := fmt.Sscan(text, &x, &y, &w, &h); err != nil {
		b.t.Fatalf("%s is at %s: %v", selector, text, err)
	}
	var want color.RGBA
	text = b.eval("getComputedStyle(document.querySelector(%q)).color", selector)
	if _, err := fmt.Sscanf(text, "rgb(%d, %d, %d)", &want.R, &want.G, &want.B); err != nil {
		b.t.Fatalf("%s has the colour %s: %v", selector, text, err)
	}
	want.A = 255
	for i := int(x); i < int(x+w); i++ {
		for j := int(y); j < int(y+h); j++ {
			if color.RGBAModel.Convert(picture.At(i, j)) == want {
				points++
			}
		}
	}
	return points
}

// fill makes a load balancer of each kind with two servers, one of which is not healthy. It returns the id of the first one's group.
func fill(t *testing.T, sim *openapisim.Simulator) (group string) {
	t.Helper()
	sim.Update(func(c *state.Cloud) {
		no := false
		c.Instances["i-2"].Healthy = &no
	})
	c := newClient(t, sim)
	lb := c.must("slb", "CreateLoadBalancer", "InstanceChargeType", "PayByCLCU", "LoadBalancerName", "classic")["LoadBalancerId"].(string)
	group = c.must("slb", "CreateVServerGroup", "LoadBalancerId", lb, "VServerGroupName", "k8s/30080/web/default/c-1", "BackendServers",
		`[{"ServerId":"i-1","Port":30080},{"ServerId":"i-2","Port":30080,"Weight":50}]`)["VServerGroupId"].(string)
	c.must("slb", "CreateLoadBalancerTCPListener", "LoadBalancerId", lb, "ListenerPort", "80", "Bandwidth", "-1",
		"VServerGroupId", group, "Scheduler", "wrr")
	c.must("slb", "StartLoadBalancerListener", "LoadBalancerId", lb, "ListenerPort", "80")
	sim.Update(func(c *state.Cloud) {
		c.NLBs["nlb-1"] = &state.NLB{ID: "nlb-1", Name: "network", DNSName: "nlb-1.nlb", Status: "Active",
			Zones: []*state.NLBZone{{ZoneID: "z-a", PrivateIP: "192.168.0.77"}}}
		c.NLBServerGroups["sgp-1"] = &state.NLBServerGroup{ID: "sgp-1", Name: "k8s.30081.TCP.api.default.c-1",
			Status: "Available", Scheduler: "Wrr", Servers: []*state.NLBServer{
				{Type: "Ecs", ServerID: "i-1", Port: 30081, Weight: 100, Status: "Available"}, {Type: "Ecs", ServerID: "i-2",
					Port: 30081, Weight: 100, Status: "Available"},
			}}
		c.NLBListeners["lsn-1@443"] = &state.NLBListener{ID: "lsn-1@443", NLBID: "nlb-1", Protocol: "TCPSSL", Port: 443,
			Status: "Running", ServerGroupID: "sgp-1"}
	})
	return group
}

// In a browser a Service's balancer is what the cloud has of it: each listener with its group, the servers of that and their health.
func TestConsoleInABrowser(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	sim := newCloud(t, openapisim.Config{Regions: []string{"cn-beijing"}})
	group := fill(t, sim)
	base := "http://" + sim.Endpoint("admin")
	for _, tt := range []struct {
		service, header string
		rows            []string
	}{
		{"default/web", `^CLB classic 47[.0-9]+ active 1 of 2 healthy lb-.* serves default/web$`, []string{
			`^tcp :80 running wrr checks tcp every 2 s k8s/30080/web/default/c-1 ` + group +
				` i-1 192.168.0.11:30080 100 normal$`, `^i-2 192.168.0.12:30080 50 abnormal$`,
		}},
		{"default/api", `^NLB network nlb-1.nlb Active 1 of 2 healthy nlb-1 Intranet z-a 192.168.0.77 serves default/api$`, []string{
			`^TCPSSL :443 Running k8s.30081.TCP.api.default.c-1 sgp-1 Wrr checks TCP every 5 s i-1 192.168.0.11:30081 100 ` +
				`Normal$`, `^i-2 192.168.0.12:30081 100 Unhealthy$`,
		}},
	} {
		b.open(base + "/console")
		b.click(tt.service)
		if got := b.eval("location.pathname"); got != "/console/service/"+tt.service {
			t.Errorf("the link of %s leads to %s", tt.service, got)
		}
		shows(t, b.lines("article > header"), tt.header)
		shows(t, b.lines("tbody tr"), tt.rows...)
		if b.lines("h1")[0] != "Service "+tt.service ||
			b.eval("getComputedStyle(document.querySelector('.bad')).color === getComputedStyle(document.body).color") != "false" {
			t.Errorf("the page of %s has the title %s, and what is bad has no colour", tt.service, b.lines("h1"))
		}
		picture := b.screenshot(strings.ReplaceAll(tt.service, "/", "-"))
		for _, selector := range []string{"h1", "article > header", ".bad"} {
			if b.painted(picture, selector) == 0 {
				t.Errorf("in the picture of the page of %s there is no %s", tt.service, selector)
			}
		}
		b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": false})
		if b.eval("document.documentElement.scrollWidth <= 400") != "true" {
			t.Errorf("in a narrow window the page of %s is %s wide", tt.service, b.eval("document.documentElement.scrollWidth"))
		}
		b.call("Emulation.clearDeviceMetricsOverride", map[string]any{})
	}
	b.click("i-2") // what is known of a server
	if rows := b.lines("#instances tbody tr"); len(rows) != 1 || !strings.Contains(rows[0], "i-2") ||
		!strings.Contains(rows[0], "fails health checks") {
		t.Errorf("the link of a server shows %q", rows)
	}
	// Nothing on the pages changes anything, and the other region has pages of its own.
	if forms := b.eval("[...document.forms].map(f => f.method).join()"); forms != "get" {
		t.Errorf("forms of the methods %s", forms)
	}
	b.open(base + "/console")
	b.click("1000000000000001/cn-beijing")
	if shown := b.eval("document.body.innerText"); !strings.Contains(shown, "There are no load balancers") ||
		!strings.Contains(shown, "cn-beijing") {
		t.Errorf("the page of the other region shows %s", shown)
	}
	if b.eval("document.styleSheets[0].cssRules.length > 50") != "true" {
		t.Error("the page of the other region has no style")
	}
}

// shows reports an error unless each line matches the pattern at its place.
func shows(t *testing.T, lines []string, patterns ...string) {
	t.Helper()
	ok := len(lines) == len(patterns)
	for i := 0; ok && i < len(lines); i++ {
		ok = regexp.MustCompile(patterns[i]).MatchString(lines[i])
	}
	if !ok {
		t.Errorf("the page shows\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(patterns, "\n"))
	}
}
