//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"alicloud-controllers.dev/deploy/images/oci"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// built is what is made outside of the sandbox, where modules can be downloaded.
type built struct {
	Root       string
	Kubernetes binaries.Kubernetes
	Node       binaries.Node
	// Echo is the program of the workload, of pause and of the load.
	Echo string
	// Images are the tars with images, ours and the others. Ours are those of a release if one is tried: no node has them.
	Images, Ours string
	// Upstream, Simulator and Gateways are of the tests of Kubernetes itself and of the Gateway API, and empty without them.
	Upstream  binaries.Upstream
	Simulator string
	Gateways  conformance
}

const (
	registry     = "registry.example.com"
	echoImage    = "registry.example.com/test/echo:1"
	pauseImage   = "registry.example.com/test/pause:1"
	coreDNSImage = "registry.example.com/test/coredns:1"
)

// build makes all programs and images and says in a file where they are.
func build(work string) error {
	ctx := context.Background()
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	b := built{Root: root, Echo: filepath.Join(work, "echo"), Images: filepath.Join(work, "images")}
	cfg := binaries.Config{Root: root, Assets: os.Getenv("KUBEBUILDER_ASSETS"), Out: os.Stderr}
	if b.Kubernetes, err = binaries.EnsureKubernetes(ctx, cfg); err != nil {
		return err
	}
	if b.Node, err = binaries.EnsureNode(ctx, cfg); err != nil {
		return err
	}
	commands := [][]string{{"build", "-trimpath", "-ldflags", "-s -w", "-o", b.Echo, "./test/cluster/echo"}}
	if b.Ours = os.Getenv(releaseAsked); b.Ours == "" {
		b.Ours = b.Images
		commands = append(commands, []string{"run", "./images", "-out", b.Images, "-platforms", runtime.GOARCH, "-registry", registry})
	} else if err := os.Mkdir(b.Images, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	for _, args := range commands {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = filepath.Join(root, "deploy"), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	for name, program := range map[string]struct{ as, file string }{
		echoImage: {"echo", b.Echo}, pauseImage: {"pause", b.Echo}, coreDNSImage: {"coredns", b.Node.CoreDNS},
	} {
		if err := image(filepath.Join(b.Images, program.as+".tar"), name, program.as, program.file, nil); err != nil {
			return err
		}
	}
	if os.Getenv(upstreamAsked) != "" {
		if err := b.upstream(ctx, cfg, work); err != nil {
			return err
		}
	}
	if os.Getenv(gatewaysAsked) != "" {
		if b.Gateways, err = buildConformance(ctx, root, work, b.Images); err != nil {
			return err
		}
		b.Simulator = filepath.Join(work, "openapisim")
		if err := binaries.BuildProcesses(ctx, root, work, false, "openapisim"); err != nil {
			return err
		}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("say what is built: %w", err)
	}
	return os.WriteFile(filepath.Join(work, "built.json"), text, 0o600)
}

// upstream makes what the tests of Kubernetes itself need: their programs, the images of their pods, and the simulated
// cloud as a process.
func (b *built) upstream(ctx context.Context, cfg binaries.Config, work string) (err error) {
	if b.Upstream, err = binaries.EnsureUpstream(ctx, cfg); err != nil {
		return err
	}
	b.Simulator = filepath.Join(work, "openapisim")
	if err := binaries.BuildProcesses(ctx, b.Root, work, false, "openapisim"); err != nil {
		return err
	}
	names, err := exec.CommandContext(ctx, b.Upstream.Tests, "images").Output()
	if err != nil {
		return fmt.Errorf("ask for the images of the tests: %w", err)
	}
	tools, err := toolbox("sh", "curl", "wget", "nc", "cat", "hostname")
	if err != nil {
		return err
	}
	// Some pods name the program's file, others have only arguments for it.
	if tools["agnhost"], err = os.ReadFile(b.Upstream.Agnhost); err != nil {
		return fmt.Errorf("pack agnhost: %w", err)
	}
	start := filepath.Join(work, "agnhost")
	if err := os.WriteFile(start, []byte("#!/bin/sh\nexec /agnhost \"$@\"\n"), 0o600); err != nil {
		return fmt.Errorf("pack agnhost: %w", err)
	}
	images := strings.Fields(string(names))
	if len(images) != 2 {
		return fmt.Errorf("the images of the tests are %q, want two", images)
	}
	return errors.Join(
		image(filepath.Join(b.Images, "agnhost.tar"), images[0], "agnhost", start, tools),
		image(filepath.Join(b.Images, "pause-upstream.tar"), images[1], "pause", b.Echo, nil))
}

// toolbox are programs of this machine with the libraries that they load, by their paths in an image.
func toolbox(names ...string) (map[string][]byte, error) {
	files := map[string][]byte{}
	add := func(as, path string) (err error) {
		files[strings.TrimPrefix(as, "/")], err = os.ReadFile(path)
		return err
	}
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, fmt.Errorf("tools of the tests' pods: %w", err)
		}
		out, err := exec.Command("ldd", path).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("find the libraries of %s: %w\n%s", name, err, out)
		}
		if err := add("/bin/"+name, path); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		for _, library := range regexp.MustCompile(`/[^ ]+`).FindAllString(string(out), -1) {
			if err := add(library, library); err != nil {
				return nil, fmt.Errorf("pack %s: %w", name, err)
			}
		}
	}
	return files, nil
}

// image packs one program, and the tools beside it.
func image(path, name, program, file string, tools map[string][]byte) error {
	binary, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("make image %s: %w", name, err)
	}
	out, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("make image %s: %w", name, err)
	}
	defer out.Close()
	_, err = oci.Write(out, oci.Image{
		Name: name, Program: program, Binaries: map[string][]byte{runtime.GOARCH: binary}, Tools: tools, Created: time.Unix(0, 0),
	})
	return err
}
