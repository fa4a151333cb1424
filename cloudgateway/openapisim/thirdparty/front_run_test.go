package thirdparty

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/denverdino/aliyungo/slb"
)

// frontRun says through which front, and how long, in the environment variable FRONT_RUN.
type frontRun struct {
	Address, CA, Key, Secret string
	Seconds                  int
	// BadWeather leaves out the client that doesn't repeat what was refused.
	BadWeather bool
}

// tally is what the clients met, by client and code, "ok" without one. Doubled are the tokens with which more than one
// load balancer was made.
type tally struct {
	mu       sync.Mutex
	Outcomes map[string]int
	Made     int
	Doubled  []string
}

func (y *tally) note(client, code string) {
	switch {
	case code == "":
		code = "ok"
	case strings.ContainsAny(code, " :"):
		code = "no answer"
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.Outcomes[client+": "+code]++
}

// TestFrontRun lets all clients work through a front that runs already, as TestFrontBesideControllers of
// deploy/test/e2e starts it. Each reads, and makes and deletes load balancers with a ClientToken, which it repeats
// until it hears what became of them.
func TestFrontRun(t *testing.T) {
	plan := os.Getenv("FRONT_RUN")
	if plan == "" {
		t.Skip("TestFrontBesideControllers of deploy/test/e2e runs this, and says in FRONT_RUN where its front is")
	}
	var run frontRun
	check(t, json.Unmarshal([]byte(plan), &run))
	end := time.Now().Add(time.Duration(run.Seconds) * time.Second)
	y := &tally{Outcomes: map[string]int{}}
	var all sync.WaitGroup
	for name, call := range callers {
		all.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				y.cycle(name, fmt.Sprintf("%s-%d", strings.NewReplacer(" ", "", ",", "").Replace(name), n),
					func(product, action string, params map[string]string) (string, string) {
						return call(t, run.Address, "HTTPS", run.Key, run.Secret, product, action, params)
					})
				pauseFor(10 * time.Second) // All together want a little more than the limit.
			}
		})
	}
	all.Go(func() {
		client := slb.NewClientWithEndpoint("https://"+run.Address, run.Key, run.Secret)
		for time.Now().Before(end) {
			_, err := client.DescribeLoadBalancers(&slb.DescribeLoadBalancersArgs{RegionId: region})
			y.note("aliyungo", aliyungoCode(err))
			pauseFor(time.Second)
		}
	})
	if !run.BadWeather {
		y.javaScript(t, run, end, &all)
	}
	all.Wait()
	y.mu.Lock()
	defer y.mu.Unlock()
	text, err := json.Marshal(y)
	check(t, err)
	fmt.Fprintf(t.Output(), "FRONT-RUN %s\n", text)
}

// javaScript lets the client of Node.js work.
func (y *tally) javaScript(t *testing.T, run frontRun, end time.Time, all *sync.WaitGroup) {
	t.Helper()
	node := nodeWithNPM(t)
	packages := installed(t)
	all.Go(func() {
		for time.Now().Before(end) {
			command := exec.CommandContext(t.Context(), node, "--test", filepath.Join("node", "front.js"))
			command.Env = append(bareEnvironment(), "NODE_PATH="+filepath.Join(packages, "node_modules"),
				"NODE_EXTRA_CA_CERTS="+run.CA, "FRONT="+run.Address,
				"ACCESS_KEY_ID="+run.Key, "ACCESS_KEY_SECRET="+run.Secret)
			code := ""
			if output, err := command.CombinedOutput(); err != nil {
				code = "failed"
				t.Logf("node: %s", output)
			}
			y.note("JavaScript", code)
			pauseFor(20 * time.Second)
		}
	})
}

// cycle reads, and makes and deletes one load balancer.
func (y *tally) cycle(client, token string, call func(product, action string, params map[string]string) (answer, code string)) {
	_, code := call("ecs", "DescribeInstances", map[string]string{"PageSize": "10"})
	y.note(client, code)
	_, code = call("vpc", "DescribeVpcs", nil)
	y.note(client, code)
	id := ""
	for range 60 {
		answer, code := call("slb", "CreateLoadBalancer", map[string]string{
			"LoadBalancerName": token, "AddressType": "internet", "InstanceChargeType": "PayByCLCU", "ClientToken": token,
		})
		y.note(client, code)
		var made struct{ LoadBalancerId string }
		if code == "" && json.Unmarshal([]byte(answer), &made) == nil {
			if id != "" && id != made.LoadBalancerId {
				y.mu.Lock()
				y.Doubled = append(y.Doubled, token)
				y.mu.Unlock()
			}
			if id != "" {
				break // The repetition found the first.
			}
			id = made.LoadBalancerId
			y.mu.Lock()
			y.Made++
			y.mu.Unlock()
			continue
		}
		pauseFor(time.Second)
	}
	for attempt := 0; id != "" && attempt < 60; attempt++ {
		_, code := call("slb", "DeleteLoadBalancer", map[string]string{"LoadBalancerId": id})
		y.note(client, code)
		if code == "" || code == "InvalidLoadBalancerId.NotFound" {
			break
		}
		pauseFor(time.Second)
	}
}

func aliyungoCode(err error) string {
	if err == nil {
		return ""
	}
	return "no answer: " + err.Error()
}

func pauseFor(d time.Duration) { <-time.After(d) }
