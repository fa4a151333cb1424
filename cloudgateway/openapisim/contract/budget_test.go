package contract

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// budget bounds what a run against the cloud takes, in money and time. What is there already is removed all the same.
type budget struct {
	mu          sync.Mutex
	left, spent int // fen
	until       time.Time
}

// prices are what something new costs in its first hour, which the cloud charges whole: estimates in fen of CNY, meant
// to be too high. Traffic is not counted: there is none.
func prices() map[string]int {
	return map[string]int{
		"slb CreateLoadBalancer": 50, "nlb CreateLoadBalancer": 50, "vpc AllocateEipAddress": 20, "vpc CreateCommonBandwidthPackage": 500,
		"ecs RunInstances": 200, "vpc CreateNatGateway": 100, "vpc AllocateIpv6InternetBandwidth": 20,
	}
}

// newBudget reads CONTRACT_CNY and CONTRACT_MINUTES.
func newBudget(t *testing.T) *budget {
	t.Helper()
	read := func(name string, otherwise int) int {
		value := os.Getenv(name)
		if value == "" {
			return otherwise
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			t.Fatalf("%s is %q, and must be a number from 1 on", name, value)
		}
		return n
	}
	return &budget{left: 100 * read("CONTRACT_CNY", 50), until: time.Now().Add(time.Duration(read("CONTRACT_MINUTES", 60)) * time.Minute)}
}

// take reports why a call is not made.
func (b *budget) take(product, action string, now time.Time) string {
	if b == nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	price := prices()[product+" "+action]
	switch {
	case now.After(b.until):
		return "the time is over; CONTRACT_MINUTES gives more"
	case price > b.left:
		return fmt.Sprintf("%s would cost more than the rest of %s CNY; CONTRACT_CNY gives more", action, yuan(b.left))
	}
	b.left -= price
	b.spent += price
	return ""
}

func yuan(fen int) string { return fmt.Sprintf("%d.%02d", fen/100, fen%100) }

func TestBudget(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := &budget{left: 120, until: now.Add(time.Minute)}
	for i, tt := range []struct {
		action string
		now    time.Time
		want   string
	}{
		{"CreateLoadBalancer", now, ""},
		{"CreateLoadBalancer", now, ""},
		{"CreateLoadBalancer", now, "CONTRACT_CNY"},
		{"DescribeLoadBalancers", now, ""},
		{"DescribeLoadBalancers", now.Add(time.Hour), "CONTRACT_MINUTES"},
	} {
		if got := b.take("slb", tt.action, tt.now); got != "" != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("call %d: %q, want %q", i, got, tt.want)
		}
	}
	if b.spent != 100 || yuan(b.left) != "0.20" {
		t.Errorf("%d spent, %s left", b.spent, yuan(b.left))
	}
}
