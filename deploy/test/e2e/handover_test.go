package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/health" // The active replica is found by it.
	"google.golang.org/grpc/metadata"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// frontTool signs requests to the OpenAPI front.
type frontTool struct {
	address, key, secret string
	http                 *http.Client
}

// query is what a call of an action that only reads asks for, with its signature.
func (f frontTool) query(version, action string) string {
	params := url.Values{
		"Action": {action}, "Version": {version}, "AccessKeyId": {f.key}, "SignatureMethod": {"HMAC-SHA1"}, "SignatureVersion": {"1.0"},
		"SignatureNonce": {rand.Text()}, "Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")}, "Format": {"JSON"},
		"RegionId": {"cn-hangzhou"},
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		pairs = append(pairs, escape(name)+"="+escape(params.Get(name)))
	}
	mac := hmac.New(sha1.New, []byte(f.secret+"&"))
	_, _ = io.WriteString(mac, "GET&%2F&"+escape(strings.Join(pairs, "&")))
	return strings.Join(append(pairs, "Signature="+escape(base64.StdEncoding.EncodeToString(mac.Sum(nil)))), "&")
}

// call calls an action that only reads, and returns an error unless the answer is the cloud's.
func (f frontTool) call(ctx context.Context, version, action string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+f.address+"/?"+f.query(version, action), http.NoBody)
	if err != nil {
		return err
	}
	answer, err := f.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %w", answer.Status, body, err)
	}
	return nil
}

// escape is the cloud's percent-encoding.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// TestHandover: with Leases of a real API server, callers of the gateway and of its front are without an answer for 3 s at most when the
// active one of two replicas is told to end, whatever it has to do.
func TestHandover(t *testing.T) {
	t.Parallel()
	const key, secret = frontKey, frontSecret
	address, keys := frontOf(t, key, secret)
	w := bootWith(t, world.Config{Gateways: 2, Gateway: map[string]any{
		"front":  map[string]any{"listen": address, "keysFile": keys, "wait": "60s"},
		"budget": map[string]any{"overrides": map[string]any{"vpc/DescribeVSwitches": map[string]any{"calls": 1, "window": "1s"}}},
	}})
	if err := w.Apply(t.Context(), []byte(frontAccess)); err != nil {
		t.Fatal(err)
	}
	if err := w.Cloud().EnableLimits(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	seed := w.state(t)
	vpc := ""
	for vpc = range seed.Vpcs {
		continue
	}
	for n := range 3000 {
		id := fmt.Sprintf("i-%020d", n)
		seed.Instances[id] = &state.Instance{Name: strings.Repeat("n", 100), VpcID: vpc, ZoneID: "cn-hangzhou-h", Status: "Running"}
	}
	if err := w.Cloud().SetState(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
	client := w.tool(t)
	w.served(t, client)
	tool := frontTool{address: address, key: key, secret: secret, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}}

	for _, burden := range []struct {
		name string
		on   func(ctx context.Context, t *testing.T)
	}{
		{name: "idle", on: func(context.Context, *testing.T) {}},
		{name: "full queue", on: func(ctx context.Context, _ *testing.T) {
			many(ctx, func(n int) {
				_, _ = client.VSwitches.ListVSwitches(ctx, &vpcv1.ListVSwitchesRequest{VpcId: vpc, Name: fmt.Sprint(n)})
			})
		}},
		{name: "slow clients", on: func(ctx context.Context, t *testing.T) { w.readNothing(ctx, t, vpc) }},
		{name: "front", on: func(ctx context.Context, _ *testing.T) {
			many(ctx, func(int) { _ = tool.call(ctx, "2016-04-28", "DescribeVSwitches") })
		}},
		{name: "slow tools", on: func(ctx context.Context, t *testing.T) { w.beginToRead(ctx, t, tool) }},
	} {
		t.Run(burden.name, func(t *testing.T) {
			// A machine that halts may hold up one handover, and what waits for others all. A handover is about five calls
			// to the API server and of callers, which a busy machine makes longer.
			const limit, tries = 3 * time.Second, 5
			for n := range tries {
				typed, front, slowest := w.handOver(t, client, tool, burden.on)
				t.Logf("%s: %.1f s without an answer, and %.1f s of the front; a read took %.1f s before",
					burden.name, typed.Seconds(), front.Seconds(), slowest.Seconds())
				if max(typed, front) <= limit+5*slowest {
					return
				}
				if n == tries-1 {
					t.Errorf("%s: callers were without an answer for more than %s, %d times", burden.name, limit, tries)
				}
			}
		})
	}
}

// many calls again and again, 20 at a time.
func many(ctx context.Context, call func(n int)) {
	for n := range 20 {
		go func() {
			for ctx.Err() == nil {
				call(n)
			}
		}()
	}
}

// readNothing makes calls with long answers and takes nothing of them.
func (w testWorld) readNothing(ctx context.Context, t *testing.T, vpc string) {
	t.Helper()
	trust, err := credentials.NewClientTLSFromFile(w.CAFile(), "cloudgateway")
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(w.toolToken())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(w.GatewayAddress(), grpc.WithTransportCredentials(trust), grpc.WithDefaultServiceConfig(
		`{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}}`))
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	for range 4 {
		call := metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+string(token))
		stream, err := conn.NewStream(call, &grpc.StreamDesc{}, ecsv1.InstanceService_ListInstances_FullMethodName, grpc.WaitForReady(true))
		if err == nil {
			err = stream.SendMsg(&ecsv1.ListInstancesRequest{VpcId: vpc})
		}
		if err == nil {
			err = stream.CloseSend()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// beginToRead makes a call through the front whose answer is longer than the buffers of a connection, and takes one byte of it.
func (w testWorld) beginToRead(ctx context.Context, t *testing.T, tool frontTool) {
	t.Helper()
	if err := w.Cloud().SetFaults(ctx, fault.Rule{Action: "DescribeVpcs", Error: &fault.Error{
		Status: http.StatusBadRequest, Code: "Long", Message: strings.Repeat("x", 8<<20),
	}}); err != nil {
		t.Fatal(err)
	}
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", tool.address)
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET /?%s HTTP/1.1\r\nHost: front\r\n\r\n", tool.query("2016-04-28", "DescribeVpcs"))
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 1))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// handOver tells the active replica to end, and returns the longest times without an answer of a client of the gateway and of one of the
// front, which read four times a second, and how long a read took them before.
func (w testWorld) handOver(t *testing.T, client *gateway.Client, tool frontTool,
	burden func(context.Context, *testing.T)) (typed, front, slowest time.Duration) {
	t.Helper()
	for _, name := range []string{standby, active} {
		if err := w.Process(name).Stop(); err != nil {
			t.Fatal(err)
		}
	}
	w.restart(t, active)
	w.served(t, client)
	// The port of the front opens after that of the gateway's own API.
	eventually(t, "the front answers", func(ctx context.Context) error {
		return tool.call(ctx, "2014-05-15", "DescribeLoadBalancers")
	})
	w.restart(t, standby)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	burden(ctx, t)
	readers := map[*time.Duration]func(ctx context.Context) error{
		&typed: func(ctx context.Context) error { return listBalancers(ctx, client, nil) },
		&front: func(ctx context.Context) error { return tool.call(ctx, "2014-05-15", "DescribeLoadBalancers") },
	}
	answered := func(read func(ctx context.Context) error, wait time.Duration) {
		for {
			limited, end := context.WithTimeout(ctx, wait)
			err := read(limited)
			end()
			if err == nil || ctx.Err() != nil {
				return
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	for _, read := range readers {
		for range 3 {
			begun := time.Now()
			answered(read, time.Minute)
			slowest = max(slowest, time.Since(begun))
		}
	}
	over := make(chan struct{})
	gap := func(longest *time.Duration, read func(ctx context.Context) error) {
		for last, ended := time.Now(), false; !ended; {
			select {
			case <-over:
				ended = true // One more answer, of the next replica.
			case <-time.After(250 * time.Millisecond):
			}
			answered(read, time.Second+slowest)
			*longest = max(*longest, time.Since(last))
			last = time.Now()
		}
	}
	var reading sync.WaitGroup
	for longest, read := range readers {
		reading.Go(func() { gap(longest, read) })
	}
	<-time.After(time.Second) // Calls wait by then.
	if err := w.Process(active).Stop(); err != nil {
		t.Error(err)
	}
	close(over)
	reading.Wait()
	if ctx.Err() != nil {
		t.Error("no replica answers")
	}
	return typed, front, slowest
}
