package binaries

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Downloads are where the releases of programs are published. The zero value stands for: build all.
type Downloads struct {
	// Kubernetes and Etcd are URLs below which each release has a directory with its version as its name.
	Kubernetes, Etcd string
}

// Releases are the places of the projects themselves.
func Releases() Downloads {
	return Downloads{Kubernetes: "https://dl.k8s.io/release", Etcd: "https://github.com/etcd-io/etcd/releases/download"}
}

// download is a program of a release: the URL of its file, that of the checksums which the release publishes, and the program's path in the
// file if that is an archive.
type download struct{ url, sums, member string }

const (
	// connectTimeout bounds what a machine without a network loses.
	connectTimeout = 5 * time.Second
	// downloadTimeout is less than what building takes.
	downloadTimeout = 2 * time.Minute
	// mostSums bounds the file of checksums, in bytes.
	mostSums = 1 << 20
)

// apiServer is that of a release of Kubernetes for this machine. There are some for Linux only.
func (d Downloads) apiServer(version string) *download {
	if d.Kubernetes == "" || runtime.GOOS != "linux" {
		return nil
	}
	url := fmt.Sprintf("%s/%s/bin/linux/%s/%s", d.Kubernetes, version, runtime.GOARCH, apiServer)
	return &download{url: url, sums: url + ".sha256"}
}

// etcd is the server of a release of etcd for this machine.
func (d Downloads) etcd(version string) *download {
	if d.Etcd == "" || runtime.GOOS != "linux" {
		return nil
	}
	dir := "etcd-" + version + "-linux-" + runtime.GOARCH
	release := d.Etcd + "/" + version
	return &download{url: release + "/" + dir + ".tar.gz", sums: release + "/SHA256SUMS", member: dir + "/etcd"}
}

// client gives up early on a network that takes packets and answers none.
func client() *http.Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: connectTimeout,
	}
	return &http.Client{Transport: transport}
}

// checksum asks for the checksum that the release publishes for the file, in hexadecimal digits. It tells at once
// whether there is a network.
func (d download) checksum(ctx context.Context, client *http.Client) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*connectTimeout)
	defer cancel()
	var text bytes.Buffer
	if err := get(ctx, client, d.sums, func(body io.Reader) error {
		_, err := io.Copy(&text, io.LimitReader(body, mostSums))
		return err
	}); err != nil {
		return "", err
	}
	return findSum(text.String(), path.Base(d.url))
}

// findSum finds the checksum of a file in the output of sha256sum, or in a text with one checksum and no name.
func findSum(text, name string) (string, error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		alone := len(words) == 1 && strings.TrimSpace(text) == words[0]
		if !alone && (len(words) != 2 || strings.TrimPrefix(words[1], "*") != name) {
			continue
		}
		if sum, err := hex.DecodeString(words[0]); err != nil || len(sum) != sha256.Size {
			return "", fmt.Errorf("the checksum of %s is %q, which is none of SHA-256", name, words[0])
		}
		return strings.ToLower(words[0]), nil
	}
	return "", fmt.Errorf("the release publishes no checksum of %s", name)
}

// fetch puts the program into path, executable, if what comes has the checksum. Otherwise it leaves nothing there.
func (d download) fetch(ctx context.Context, client *http.Client, sum, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	dir, err := os.MkdirTemp(filepath.Dir(path), buildDirs)
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	defer os.RemoveAll(dir)
	whole := filepath.Join(dir, "file")
	digest := sha256.New()
	if err := get(ctx, client, d.url, func(body io.Reader) error { return save(whole, io.TeeReader(body, digest)) }); err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != sum {
		return fmt.Errorf("%s has the checksum %s, and its release publishes %s", d.url, got, sum)
	}
	if d.member != "" {
		program := filepath.Join(dir, "program")
		if err := extract(whole, d.member, program); err != nil {
			return fmt.Errorf("%s: %w", d.url, err)
		}
		whole = program
	}
	return os.Rename(whole, path)
}

func get(ctx context.Context, client *http.Client, url string, use func(body io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("download: %w", err) // It names the URL.
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("download %s: %s", url, answer.Status)
	}
	if err := use(answer.Body); err != nil {
		return fmt.Errorf("download %s: %w", url, err)
	}
	return nil
}

// save writes a program.
func save(path string, content io.Reader) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755) //nolint:gosec // A public program.
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}

// extract takes one file out of a tar that gzip compressed.
func extract(archive, member, path string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	for in := tar.NewReader(plain); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("it has no %s", member)
		}
		if err != nil {
			return err
		}
		if header.Name == member && header.Typeflag == tar.TypeReg {
			return save(path, in)
		}
	}
}

// published are the programs of which the release publishes a checksum, with the checksums. What does not answer is said, and built.
func published(ctx context.Context, client *http.Client, programs []program, out io.Writer) map[string]string {
	sums := map[string]string{}
	for _, p := range programs {
		if p.download == nil {
			continue
		}
		sum, err := p.download.checksum(ctx, client)
		if err != nil {
			if ctx.Err() == nil {
				_, _ = fmt.Fprintf(out, "no release of %s is taken, it is built: %v\n", p.name, err)
			}
			return nil // The others are asked for over the same network, and are built with the same command.
		}
		sums[p.name] = sum
	}
	return sums
}

// fetchAll downloads programs, all at once. What can't be had is said.
func fetchAll(ctx context.Context, client *http.Client, programs []program, sums map[string]string, out io.Writer) {
	ended := make(chan string)
	for _, p := range programs {
		go func() {
			if err := p.download.fetch(ctx, client, sums[p.name], *p.path); err != nil {
				ended <- fmt.Sprintf("no release of %s is taken, it is built: %v\n", p.name, err)
				return
			}
			ended <- fmt.Sprintf("downloaded %s\n", p.name)
		}()
	}
	for range programs {
		if text := <-ended; ctx.Err() == nil {
			_, _ = io.WriteString(out, text)
		}
	}
}

// provide has the missing programs downloaded where a release publishes them, and the others built meanwhile.
func (r recipe) provide(ctx context.Context, dir string, out io.Writer) error {
	client := client()
	defer client.CloseIdleConnections()
	missing := r.missing()
	sums := published(ctx, client, missing, out)
	var fetched, built []program
	for _, p := range missing {
		if sums[p.name] != "" {
			fetched = append(fetched, p)
		} else {
			built = append(built, p)
		}
	}
	lines := &sequence{out: out}
	fetching, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		fetchAll(fetching, client, fetched, sums, lines)
	}()
	var err error
	if len(built) > 0 {
		if err = r.build(ctx, dir, built, lines); err != nil {
			stop()
		}
	}
	<-done
	if rest := r.missing(); err == nil && len(rest) > 0 {
		err = r.build(ctx, dir, rest, lines)
	}
	return err
}

// sequence lets several goroutines write, one after the other.
type sequence struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (s *sequence) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}
