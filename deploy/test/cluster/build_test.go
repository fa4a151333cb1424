//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
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
	// Images are the tars with images, ours and the others.
	Images string
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
	for _, args := range [][]string{
		{"build", "-trimpath", "-ldflags", "-s -w", "-o", b.Echo, "./test/cluster/echo"},
		{"run", "./images", "-out", b.Images, "-platforms", runtime.GOARCH, "-registry", registry},
	} {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Env = filepath.Join(root, "deploy"), append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	for name, program := range map[string]struct{ as, file string }{
		echoImage: {"echo", b.Echo}, pauseImage: {"pause", b.Echo}, coreDNSImage: {"coredns", b.Node.CoreDNS},
	} {
		if err := image(filepath.Join(b.Images, program.as+".tar"), name, program.as, program.file); err != nil {
			return err
		}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return fmt.Errorf("say what is built: %w", err)
	}
	return os.WriteFile(filepath.Join(work, "built.json"), text, 0o600)
}

// image packs one program.
func image(path, name, program, file string) error {
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
		Name: name, Program: program, Binaries: map[string][]byte{runtime.GOARCH: binary}, Created: time.Unix(0, 0),
	})
	return err
}
