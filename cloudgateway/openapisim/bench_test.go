package openapisim_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Benchmarks call over loopback with requests that the SDK signs, in a cloud with 2000 load balancers. The signing is a part
// of what is measured. Run them with
//
//	go test -run '^$' -bench . -benchtime 3s ./openapisim
func largeCloud(b *testing.B) *openapisim.Simulator {
	b.Helper()
	resources := seed()
	resources.LoadBalancers = map[string]*state.LoadBalancer{}
	for n := range 2000 {
		id := "lb-" + strconv.Itoa(n)
		resources.LoadBalancers[id] = &state.LoadBalancer{
			ID: id, Name: id, Address: fmt.Sprintf("47.96.%d.%d", n/250, n%250), AddressType: "internet", Status: "active",
			Tags: []state.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
		}
	}
	return newCloud(b, openapisim.Config{Seed: resources, LimitsOff: true})
}

func benchmark(b *testing.B, sim *openapisim.Simulator, request func(c *client, n int64) *requests.CommonRequest) {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	httpClient := &http.Client{Transport: transport}
	var count atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		c := newClient(b, sim)
		for pb.Next() {
			r := request(c, count.Add(1))
			r.TransToAcsRequest()
			if err := c.sdk.BuildRequestWithSigner(r, nil); err != nil {
				b.Error(err)
				return
			}
			if err := post(b.Context(), httpClient, r.BuildUrl()); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}

func post(ctx context.Context, c *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, body)
	}
	return err
}

func BenchmarkReads(b *testing.B) {
	benchmark(b, largeCloud(b), func(c *client, n int64) *requests.CommonRequest {
		return c.request("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", "lb-"+strconv.FormatInt(n%2000, 10))
	})
}

func BenchmarkWrites(b *testing.B) {
	benchmark(b, largeCloud(b), func(c *client, n int64) *requests.CommonRequest {
		return c.request("slb", "SetLoadBalancerName", "LoadBalancerId", "lb-"+strconv.FormatInt(n%2000, 10), "LoadBalancerName", "n")
	})
}

// BenchmarkReadsWithLongJournal tells whether a call gets slower with the number of calls before it.
func BenchmarkReadsWithLongJournal(b *testing.B) {
	sim := largeCloud(b)
	for range 100_000 { // refused ones are recorded, too
		serve(sim, "slb", httptest.NewRequest(http.MethodPost, "/?Action=DescribeLoadBalancers&Version=2014-05-15", nil))
	}
	benchmark(b, sim, func(c *client, n int64) *requests.CommonRequest {
		return c.request("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", "lb-"+strconv.FormatInt(n%2000, 10))
	})
}
