package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// backends answer on the node ports in place of the kubelets and pods that the fake nodes don't have.
type backends struct{ servers map[string]*http.Server } // by address

// follow serves the node ports of a Service on every node that is not served yet.
func (b *backends) follow(nodes []corev1.Node, service *corev1.Service) error {
	for _, node := range nodes {
		for _, port := range service.Spec.Ports {
			at := net.JoinHostPort(address(node), strconv.Itoa(int(port.NodePort)))
			if b.servers[at] != nil {
				continue
			}
			l, err := net.Listen("tcp", at)
			if err != nil {
				return fmt.Errorf("serve the node port %s of %s: %w", port.Name, node.Name, err)
			}
			server := &http.Server{Handler: hello(node.Name), ReadHeaderTimeout: time.Second}
			b.servers[at] = server
			go func() { _ = server.Serve(l) }() // Ends with close.
		}
	}
	return nil
}

func hello(node string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		//nolint:gosec // Plain text, which no browser runs.
		_, _ = fmt.Fprintf(w, "hello from %s, X-Forwarded-For %q", node, r.Header.Get("X-Forwarded-For"))
	})
}

func (b *backends) close() {
	for _, server := range b.servers {
		_ = server.Close()
	}
}

// serve starts the servers behind the node ports of a Service, on the nodes that are there now.
func (s *show) serve(ctx context.Context, name string) error {
	service, err := s.service(ctx, name)
	if err != nil {
		return err
	}
	list, err := s.world.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	return s.backends.follow(list.Items, service)
}

// requests is how many requests each listener gets: enough to meet every node.
const requests = 4

// curl shows that the load balancer of a Service forwards, as a client outside the cluster sees it.
func (s *show) curl(ctx context.Context, service *corev1.Service, ip string) error {
	if !s.world.Traffic() {
		s.line("(requests through the load balancer are shown on Linux only)")
		return nil
	}
	for _, port := range service.Spec.Ports {
		url := "http://" + net.JoinHostPort(ip, strconv.Itoa(int(port.Port))) + "/"
		url = strings.TrimSuffix(strings.Replace(url, ":80/", "/", 1), "/")
		if !mayListen(ip, int(port.Port)) {
			s.line("curl %s: left out, this user may not listen on port %d", url, port.Port)
			continue
		}
		if err := s.ask(ctx, url); err != nil {
			return err
		}
	}
	return nil
}

// ask sends requests until each has been answered once: a listener that has only just started may refuse the first.
func (s *show) ask(ctx context.Context, url string) error {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range requests {
		var answer string
		var last error
		err := s.until(ctx, func(ctx context.Context) (bool, error) {
			answer, last = get(ctx, client, url)
			return last == nil, nil
		})
		if err != nil {
			return fmt.Errorf("curl %s: %w", url, errors.Join(err, last))
		}
		s.line("curl %s  →  %s", url, answer)
	}
	return nil
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("make request: %w", err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("send request: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %w", answer.Status, err)
	}
	return string(body), nil
}

// mayListen reports whether this user, who is also the simulator's, may listen on a port: low ports need a right.
func mayListen(ip string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
	if err == nil {
		_ = l.Close()
		return true
	}
	// In use is what a port of the load balancer has to be.
	return !errors.Is(err, syscall.EACCES)
}
