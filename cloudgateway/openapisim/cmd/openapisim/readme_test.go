package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// shell returns the commands of the README's block with a name, one a line.
func shell(t *testing.T, page, name string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(page, "<!-- run: "+name+" -->\n```sh\n")
	if !ok {
		t.Fatalf("the README has no block %q", name)
	}
	block, _, _ := strings.Cut(rest, "```")
	return strings.Split(strings.TrimSpace(block), "\n")
}

// The commands of the README do what it says, with free ports instead of its own. The command itself runs in this process.
func TestReadmeCommands(t *testing.T) {
	content, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	t.Chdir(t.TempDir())
	start := shell(t, page, "start")
	if len(start) != 3 || start[0] != "go build -o openapisim ./cmd/openapisim" {
		t.Fatalf("the first block is %q", start)
	}
	arguments, file, _ := strings.Cut(start[1], " >")
	seed, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), strings.Fields(arguments)[1:], seed, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := seed.Close(); err != nil {
		t.Fatal(err)
	}
	// The other blocks use what the first one serves. A second process would find its ports taken.
	addresses := serve(t, start[2], "all", "tls")
	for _, command := range shell(t, page, "look") {
		curl(t, strings.ReplaceAll(command, "127.0.0.1:9108", addresses[0]))
	}
	for _, command := range shell(t, page, "tls") {
		if out := curl(t, strings.ReplaceAll(command, "127.0.0.1:9109", addresses[1])); !strings.Contains(out, "ok") {
			t.Errorf("health with TLS: %s", out)
		}
	}
}

// serve runs a command that serves some endpoints, at free ports, and returns their addresses. The other endpoints are left out.
func serve(t *testing.T, command string, names ...string) []string {
	t.Helper()
	for _, name := range names {
		if !strings.Contains(command, " --"+name+" ") {
			t.Fatalf("%q does not serve %s", command, name)
		}
	}
	args := strings.Fields(command)[1:]
	for i, arg := range args {
		if strings.HasPrefix(arg, "127.0.0.1:") {
			args[i] = "127.0.0.1:0"
		}
	}
	for _, e := range openapisim.Endpoints() {
		if !slices.Contains(names, e.Name) {
			args = append(args, "--"+e.Name+"=")
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, args, in, io.Discard)
		_ = in.CloseWithError(err)
		done <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	var addresses []string
	for range names { // in the order of openapisim.Endpoints
		if !lines.Scan() {
			t.Fatalf("%s: %v", command, lines.Err())
		}
		_, address, _ := strings.Cut(lines.Text(), "://")
		addresses = append(addresses, address)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // what it prints for people
	return addresses
}

// curl runs a command with curl, which fails for every answer that is none of success.
func curl(t *testing.T, command string) string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "curl -s ",
		"curl -sSf --noproxy '*' ", 1)).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}
