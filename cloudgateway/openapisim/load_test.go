//go:build unix

package openapisim_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// connections is the number of calls that are under way at the same time. A connection has one at a time.
const connections = 16

// load measures the simulator and not its client: the SDK signs all requests before the timer starts, and over each connection goes
// one after the other as the bytes that they are.
func load(b *testing.B, sim *openapisim.Simulator, product string, request func(c *client, n int) *requests.CommonRequest) {
	b.Helper()
	signed := signedRequests(b, newClient(b, sim), request)
	var conns []net.Conn
	for range connections {
		conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", sim.Endpoint(product))
		if err != nil {
			b.Fatal(err)
		}
		conns = append(conns, conn)
	}
	b.ReportAllocs()
	before := processorTime(b)
	b.ResetTimer()
	var callers sync.WaitGroup
	for first, conn := range conns {
		callers.Go(func() {
			defer conn.Close()
			answers := bufio.NewReaderSize(conn, 64<<10)
			for n := first; n < len(signed); n += connections {
				if _, err := conn.Write(signed[n]); err != nil {
					b.Error(err)
					return
				}
				if err := readAnswer(answers); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/call")
}

// processorTime is what this process has used. What a call takes of it hardly depends on how busy others keep the machine, other
// than the time that passes.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// signedRequests returns b.N requests as they go over the wire, each with a nonce of its own.
func signedRequests(b *testing.B, c *client, request func(c *client, n int) *requests.CommonRequest) [][]byte {
	b.Helper()
	signed := make([][]byte, b.N)
	for n := range signed {
		r := request(c, n)
		r.TransToAcsRequest()
		if err := c.sdk.BuildRequestWithSigner(r, nil); err != nil {
			b.Fatal(err)
		}
		sent, err := http.NewRequestWithContext(b.Context(), http.MethodPost, r.BuildUrl(), nil)
		if err != nil {
			b.Fatal(err)
		}
		var wire bytes.Buffer
		if err := sent.Write(&wire); err != nil {
			b.Fatal(err)
		}
		signed[n] = wire.Bytes()
	}
	return signed
}

// readAnswer reads an answer to its end and returns an error unless it is a success. It knows what the simulator sends, and no more
// of HTTP than that: either a length, or chunks.
func readAnswer(r *bufio.Reader) error {
	status, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	refused := ""
	if !bytes.HasPrefix(status, []byte("HTTP/1.1 200 ")) {
		refused = string(status)
	}
	length, chunked := 0, false
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == len("\r\n") {
			break
		}
		name, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		switch string(name) {
		case "Content-Length":
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		case "Transfer-Encoding":
			chunked = true
		}
	}
	if refused != "" {
		body, err := io.ReadAll(io.LimitReader(r, int64(length)))
		return fmt.Errorf("%s%s (%w)", refused, body, err)
	}
	if !chunked {
		_, err = r.Discard(length)
		return err
	}
	return discardChunks(r)
}

func discardChunks(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
		if err != nil {
			return err
		}
		if _, err := r.Discard(int(size) + len("\r\n")); err != nil || size == 0 {
			return err
		}
	}
}
