package thirdparty

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	rpc "github.com/alibabacloud-go/tea-rpc/client"
	util "github.com/alibabacloud-go/tea-utils/service"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/denverdino/aliyungo/slb"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

const (
	frontKey    = "front-key"
	frontSecret = "a-secret-of-the-front"
)

// front is a gateway with an OpenAPI front, as a process: nothing of ours may be imported here.
type front struct {
	sim     *openapisim.Simulator
	address string // "localhost:port", of the certificate that the clients trust
	ca      string
}

// authority is the certificate that every gateway of this test has. The clients in Go trust what SSL_CERT_FILE says, which they read once.
var authority = sync.OnceValue(func() (files [2]string) {
	dir, err := os.MkdirTemp("", "thirdparty-front-")
	if err != nil {
		panic(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	files = [2]string{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	for i, block := range []*pem.Block{{Type: "CERTIFICATE", Bytes: der}, {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(files[i], pem.EncodeToMemory(block), 0o600); err != nil {
			panic(err)
		}
	}
	return files
})

// gatewayBinary builds the gateway, once for all tests.
var gatewayBinary = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(filepath.Dir(authority()[0]), "cloudgateway")
	build := exec.Command("go", "build", "-o", binary, "./cmd/cloudgateway")
	build.Dir = filepath.Join("..", "..")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, output)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	files := authority()
	trusted, _ := os.ReadFile(os.Getenv("SSL_CERT_FILE")) // There may be none.
	ours, err := os.ReadFile(files[0])
	if err == nil {
		bundle := filepath.Join(filepath.Dir(files[0]), "trusted.crt")
		err = errors.Join(os.WriteFile(bundle, append(append(trusted, '\n'), ours...), 0o600), os.Setenv("SSL_CERT_FILE", bundle))
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(filepath.Dir(files[0]))
	os.Exit(code)
}

// newFront builds and starts a gateway in front of a simulated cloud that keeps the cloud's rate limits. Its API server
// allows the key pair all of SLB, NLB and VPC, and of ECS the actions that begin with Describe.
func newFront(t *testing.T) front {
	t.Helper()
	sim := newCloud(t)
	sim.EnableLimits(true)
	return startFront(t, sim)
}

func startFront(t *testing.T, sim *openapisim.Simulator) front {
	t.Helper()
	dir := t.TempDir()
	binary, err := gatewayBinary()
	check(t, err)
	kube := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Reviews come in protobuf, of which only the words matter here.
		body, _ := io.ReadAll(r.Body)
		says := func(word string) bool { return bytes.Contains(body, []byte(word)) }
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
			fmt.Fprintf(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":%t,
				"audiences":["sts.aliyuncs.com"],
				"user":{"username":"system:serviceaccount:tools:tool","uid":"u-1"}}}`, says("the-token-of-a-pod") && says("sts.aliyuncs.com"))
			return
		case strings.Contains(r.URL.Path, "/serviceaccounts/"):
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"tool","namespace":"tools","uid":"u-1"}}`)
			return
		}
		fmt.Fprintf(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":%t}}`,
			says("system:serviceaccount:tools:tool") && (says("slb:*") || says("nlb:*") || says("vpc:*") || says("ecs:Describe*") ||
				says("cs:Describe*") || says("cs:DescribeClusterAttachScripts") || says("cs:GetClusterAddonInstance") ||
				says("sts:AssumeRoleWithOIDC") || says("ram:Get*")))
	}))
	t.Cleanup(kube.Close)
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	config := file("gateway.yaml", fmt.Sprintf(`
region: %s
listen: 127.0.0.1:0
admin: {listen: 127.0.0.1:0}
tls: {certFile: %q, keyFile: %q}
kubernetes: {kubeconfig: %q}
credentials: {accessKey: {idFile: %q, secretFile: %q}}
endpoints: {slb: %q, nlb: %q, vpc: %q, ecs: %q, cs: %q, ram: %q}
scheme: HTTP
budget: {maxPriority: user}
front: {listen: 127.0.0.1:0, wait: 8s, keysFile: %q}
`, region, authority()[0], authority()[1], file("kubeconfig", fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: %q}}]
users: [{name: test, user: {token: gateway}}]
`, kube.URL)), file("id", openapisim.DefaultAccessKeyID), file("secret", openapisim.DefaultAccessKeySecret),
		sim.Endpoint("slb"), sim.Endpoint("nlb"), sim.Endpoint("vpc"), sim.Endpoint("ecs"), sim.Endpoint("cs"),
		sim.Endpoint("ram"), file("keys.yaml", fmt.Sprintf(
			"keys: [{id: %s, secret: %s, user: \"system:serviceaccount:tools:tool\"}]\nsessionSecrets: [a-secret-of-sessions]\n",
			frontKey, frontSecret))))
	ctx, cancel := context.WithCancel(context.Background())
	gateway := exec.CommandContext(ctx, binary, "--config="+config)
	gateway.Cancel = func() error { return gateway.Process.Signal(os.Interrupt) }
	gateway.WaitDelay = 30 * time.Second
	log, err := gateway.StderrPipe()
	check(t, err)
	gateway.Stdout = gateway.Stderr
	check(t, gateway.Start())
	listens, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		var last []string
		for lines := bufio.NewScanner(log); lines.Scan(); {
			line := map[string]any{}
			_ = json.Unmarshal(lines.Bytes(), &line) // Others are not waited for.
			if line["msg"] == "the OpenAPI front listens" {
				listens <- fmt.Sprint(line["listen"])
			}
			last = append(last, lines.Text())
		}
		_ = gateway.Wait() // It was told to end.
		if t.Failed() {
			t.Logf("the gateway's log ends with\n%s", strings.Join(last[max(0, len(last)-30):], "\n"))
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case address := <-listens:
		_, port, err := net.SplitHostPort(address)
		check(t, err)
		return front{sim: sim, address: "localhost:" + port, ca: authority()[0]}
	case <-ended:
		t.Fatal("the gateway ended")
	case <-time.After(2 * time.Minute):
		t.Fatal("the front does not listen")
	}
	return front{}
}

// a caller makes a call with an unmodified client and returns what the cloud answered as text.
type caller func(t *testing.T, at, scheme, keyID, secret, product, action string, params map[string]string) (answer, code string)

// named is the code of an error, or its text if it is not the cloud's.
func named(code string, err error) string {
	if err != nil && code == "" {
		return err.Error()
	}
	return code
}

// callers are the clients in Go, by what they are called.
var callers = map[string]caller{
	"SDK v1": func(t *testing.T, at, scheme, keyID, secret, product, action string, params map[string]string) (string, string) {
		t.Helper()
		client, err := sdk.NewClientWithOptions(region, sdk.NewConfig().WithScheme(scheme).WithTimeout(30*time.Second),
			credentials.NewAccessKeyCredential(keyID, secret))
		check(t, err)
		request := requests.NewCommonRequest()
		request.Method, request.Domain, request.Version, request.ApiName, request.Scheme = "POST", at, versions()[product], action, scheme
		maps.Copy(request.QueryParams, params)
		answer, err := client.ProcessCommonRequest(request)
		if err != nil {
			return "", named(code(err), err)
		}
		return answer.GetHttpContentString(), ""
	},
	"Tea, version 3": func(t *testing.T, at, scheme, keyID, secret, product, action string, params map[string]string) (string, string) {
		t.Helper()
		client, err := openapi.NewClient(&openapi.Config{AccessKeyId: &keyID, AccessKeySecret: &secret, Endpoint: &at,
			Protocol: &scheme, RegionId: new(region)})
		check(t, err)
		query := map[string]*string{"RegionId": new(region)}
		for name, value := range params {
			query[name] = &value
		}
		answer, err := client.CallApi(&openapi.Params{
			Action: &action, Version: new(versions()[product]), Protocol: &scheme, Pathname: new("/"),
			Method: new("POST"), AuthType: new("AK"), Style: new("RPC"), ReqBodyType: new("formData"), BodyType: new("string"),
		}, &openapi.OpenApiRequest{Query: query}, &dara.RuntimeOptions{ReadTimeout: new(30000)})
		return fmt.Sprint(answer["body"]), named(teaCode(err), err)
	},
	"Tea, version 1": func(t *testing.T, at, scheme, keyID, secret, product, action string, params map[string]string) (string, string) {
		t.Helper()
		client, err := rpc.NewClient(&rpc.Config{AccessKeyId: &keyID, AccessKeySecret: &secret, Endpoint: &at,
			Protocol: &scheme, RegionId: new(region)})
		check(t, err)
		form := map[string]any{}
		for name, value := range params {
			form[name] = value
		}
		answer, err := client.DoRequest(&action, &scheme, new("POST"), new(versions()[product]), new("AK"),
			map[string]any{"RegionId": region}, form,
			&util.RuntimeOptions{ReadTimeout: new(30000)})
		text, marshalErr := json.Marshal(answer)
		check(t, marshalErr)
		return string(text), named(teaCode(err), err)
	},
}

var requestIDs = regexp.MustCompile(`[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}`)

// TestFrontIsTheCloud: unmodified clients get the same answers through the front as without it, byte for byte but for the ids of requests.
func TestFrontIsTheCloud(t *testing.T) {
	f := newFront(t)
	calls := []struct {
		product, action string
		params          map[string]string
	}{
		{"ecs", "DescribeInstances", map[string]string{"InstanceIds": `["i-1","i-2","i-none"]`}},
		{"ecs", "DescribeRegions", nil},
		{"vpc", "DescribeVpcs", map[string]string{"VpcId": "vpc-1"}},
		{"vpc", "DescribeRouteEntryList", map[string]string{"RouteTableId": tableID(f.sim), "RouteEntryType": "System"}},
		{"slb", "DescribeLoadBalancers", map[string]string{"LoadBalancerName": "ü *~+&=/'\""}},
		{"slb", "DescribeLoadBalancerAttribute", map[string]string{"LoadBalancerId": "lb-none"}},
		{"nlb", "ListLoadBalancers", nil},
		{"nlb", "GetLoadBalancerAttribute", map[string]string{"LoadBalancerId": "nlb-none"}},
		{"nlb", "CreateListener", map[string]string{"LoadBalancerId": "nlb-none", "ListenerProtocol": "TCP",
			"ListenerPort": "80", "ServerGroupId": "sgp-none"}},
		{"slb", "CreateLoadBalancerTCPListener", map[string]string{"LoadBalancerId": "lb-none", "ListenerPort": "80"}},
	}
	for name, call := range callers {
		for _, c := range calls {
			answer, code := call(t, f.address, "HTTPS", frontKey, frontSecret, c.product, c.action, c.params)
			wanted, wantedCode := call(t, f.sim.Endpoint(c.product), "HTTP", openapisim.DefaultAccessKeyID,
				openapisim.DefaultAccessKeySecret, c.product, c.action, c.params)
			if code != wantedCode || requestIDs.ReplaceAllString(answer, "") != requestIDs.ReplaceAllString(wanted, "") {
				t.Errorf("%s: %s:\n got %s %s\nwant %s %s", name, c.action, code, answer, wantedCode, wanted)
			}
		}
		if _, code := call(t, f.address, "HTTPS", frontKey, "another-secret-entirely", "ecs", "DescribeRegions",
			nil); !strings.HasPrefix(code, "SignatureDoesNotMatch") && code != "InvalidAccessKeySecret" {
			t.Errorf("%s with a wrong secret: %s", name, code)
		}
		if _, code := call(t, f.address, "HTTPS", frontKey, frontSecret, "ecs", "StopInstance",
			map[string]string{"InstanceId": "i-1"}); code != "Forbidden.RAM" {
			t.Errorf("%s without permission: %s", name, code)
		}
	}
}

// TestFrontAliyungo: the oldest client makes, finds and deletes a load balancer through the front.
func TestFrontAliyungo(t *testing.T) {
	f := newFront(t)
	client := slb.NewClientWithEndpoint("https://"+f.address, frontKey, frontSecret)
	made, err := client.CreateLoadBalancer(&slb.CreateLoadBalancerArgs{
		RegionId: region, LoadBalancerName: "ü*~+ &=", AddressType: slb.InternetAddressType, InternetChargeType: slb.PayByTraffic,
		LoadBalancerSpec: slb.S1Small, ClientToken: client.GenerateClientToken(),
	})
	check(t, err)
	found, err := client.DescribeLoadBalancers(&slb.DescribeLoadBalancersArgs{RegionId: region, LoadBalancerId: made.LoadBalancerId})
	check(t, err)
	if len(found) != 1 || found[0].LoadBalancerName != "ü*~+ &=" {
		t.Errorf("found %+v", found)
	}
	check(t, client.DeleteLoadBalancer(made.LoadBalancerId))
	_, err = client.DescribeLoadBalancerAttribute(made.LoadBalancerId)
	refused(t, err, http.StatusNotFound, "InvalidLoadBalancerId.NotFound")
}

// TestFrontNode runs the clients in JavaScript through the front.
func TestFrontNode(t *testing.T) {
	node := nodeWithNPM(t)
	packages := installed(t)
	f := newFront(t)
	command := exec.CommandContext(t.Context(), node, "--test", filepath.Join("node", "front.js"))
	command.Env = append(bareEnvironment(), "NODE_PATH="+filepath.Join(packages, "node_modules"),
		"NODE_EXTRA_CA_CERTS="+f.ca, "FRONT="+f.address,
		"ACCESS_KEY_ID="+frontKey, "ACCESS_KEY_SECRET="+frontSecret)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("node --test: %v\n%s", err, output)
	}
	if passed := regexp.MustCompile(`(?m)^\S+ pass ([0-9]+)$`).FindSubmatch(output); passed == nil || string(passed[1]) == "0" {
		t.Errorf("node ran no tests:\n%s", output)
	}
}

// TestFrontSharesTheLimit: clients that together want more than the cloud grants wait, and the cloud refuses none of their calls.
func TestFrontSharesTheLimit(t *testing.T) {
	f := newFront(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for name, call := range callers {
		all.Go(func() { // One after the other: these clients race with themselves.
			for n := range 60 {
				_, code := call(t, f.address, "HTTPS", frontKey, frontSecret, "slb", "SetLoadBalancerName",
					map[string]string{"LoadBalancerId": "lb-none", "LoadBalancerName": fmt.Sprint(n)})
				mu.Lock()
				outcomes[name+": "+code]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("outcomes: %v", outcomes)
	reached := 0
	for name := range callers {
		reached += outcomes[name+": InvalidLoadBalancerId.NotFound"]
		if outcomes[name+": InvalidLoadBalancerId.NotFound"]+outcomes[name+": Throttling"] != 60 {
			t.Errorf("%s: outcomes %v", name, outcomes)
		}
	}
	if reached == 0 {
		t.Error("no call came to the cloud")
	}
	for _, call := range f.sim.Calls(0) {
		if strings.HasPrefix(call.Code, "Throttling") {
			t.Errorf("the cloud refused %s", call.Action)
		}
	}
}
