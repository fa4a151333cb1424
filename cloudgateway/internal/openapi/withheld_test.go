package openapi

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

// TestWithheld: an answer that is about the gateway's own credentials, that quotes them, or that is not the cloud's,
// is kept from other programs.
func TestWithheld(t *testing.T) {
	quote := "Specified signature is not matched with our calculation. " +
		"server string to sign is:POST&%2F&AccessKeyId%3DLTAItest%26SecurityToken%3Dsts-token"
	refusal := func(code string) step {
		return step{status: 400, body: fmt.Sprintf(`{"RequestId":"R","HostId":"h","Code":%q,"Message":%q}`, code, quote)}
	}
	asXML := func(code string) step {
		return step{status: 400, body: `<?xml version="1.0"?><Error><RequestId>R</RequestId><HostId>h</HostId><Code>` + code +
			`</Code><Message>no</Message></Error>`}
	}
	tests := []struct {
		name   string
		format string
		script []step // the last one counts, as often as it is asked for
		why    string // empty: it is passed on
	}{
		{name: "a wrong signature", script: []step{refusal("SignatureDoesNotMatch")}, why: WithheldCredentials},
		{name: "an unknown key", script: []step{refusal("InvalidAccessKeyId.NotFound")}, why: WithheldCredentials},
		{name: "a key that is off", script: []step{refusal("InvalidAccessKeyId.Inactive")}, why: WithheldCredentials},
		{name: "another word for it", script: []step{refusal("Forbidden.AccessKeyDisabled")}, why: WithheldCredentials},
		{name: "a code that is new", script: []step{refusal("InvalidSecurityToken.Whatever")}, why: WithheldCredentials},
		{name: "the clock", script: []step{refusal("InvalidTimeStamp.Expired")}, why: WithheldCredentials},
		{name: "in XML", format: "XML", script: []step{asXML("InvalidAccessKeyId.NotFound")}, why: WithheldCredentials},
		{name: "another error that quotes", script: []step{refusal("InvalidParameter")}, why: WithheldQuote},
		{name: "a success that quotes", script: []step{{body: `{"RequestId":"R","Echo":"SecurityToken=sts-token"}`}}, why: WithheldQuote},
		{name: "a header that quotes", script: []step{{header: http.Header{"X-Acs-Echo": {"LTAItest"}}}}, why: WithheldQuote},
		{name: "a proxy's page", script: []step{{status: 502, body: "<html>GET /?Action=x&AccessKeyId=LTA</html>"}}, why: WithheldStranger},
		{name: "a proxy's success", script: []step{{body: "<html>sign in</html>"}}, why: WithheldStranger},
		{name: "a proxy's page instead of XML", format: "XML", script: []step{{body: "<html><body>in</body></html>"}}, why: WithheldStranger},
		{name: "JSON of somebody else", script: []step{{body: `{"error":"denied"}`}}, why: WithheldStranger},
		{name: "an error of the tool's", script: []step{{status: 404, code: "InvalidInstanceId.NotFound"}}},
		{name: "RAM refuses", script: []step{{status: 403, code: "Forbidden.RAM"}}},
		{name: "an error in XML", format: "XML", script: []step{asXML("InvalidInstanceId.NotFound")}},
	}
	for _, tt := range tests {
		for _, mutating := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, " mutating ", mutating), func(t *testing.T) {
				script := append(tt.script, tt.script...) // Newer credentials are tried once.
				client := newWorld(t, newFakeCloud(t, script...).host(), nil).client
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got, _, err := client.Pass(ctx, Call{Product: ECS, Action: "X", Format: tt.format, Mutating: mutating}, func(int) error { return nil })
				w, _ := errors.AsType[*Withheld](err)
				switch {
				case tt.why == "":
					if err != nil || got == nil {
						t.Errorf("got %v, want the answer", err)
					}
				case w == nil || w.Why != tt.why || got != nil:
					t.Errorf("got %v, want that it is withheld: %s", err, tt.why)
				case quotes([]byte(err.Error()), testKey):
					t.Errorf("the error quotes: %v", err)
				case rpcerr.ReasonOf(err) != rpcerr.CloudUnavailable:
					t.Errorf("the reason is %s", rpcerr.ReasonOf(err))
				}
			})
		}
	}
}

// TestXMLIsUnderstood: refusals for the rate are noticed in either form.
func TestXMLIsUnderstood(t *testing.T) {
	cloud := newFakeCloud(t, step{status: 400, body: `<Error><RequestId>R</RequestId><Code>Throttling.User</Code></Error>`},
		step{body: `<DescribeRegionsResponse><RequestId>R</RequestId></DescribeRegionsResponse>`})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, _, err := newWorld(t, cloud.host(), nil).client.Pass(ctx, Call{Product: ECS, Action: "DescribeRegions", Format: "XML"},
		func(int) error { return nil })
	if err != nil || got.Status != 200 || cloud.attempts() != 2 {
		t.Errorf("got %+v, %v after %d attempts", got, err, cloud.attempts())
	}
}

// TestQuotes: credentials are found in whatever form a text has them.
func TestQuotes(t *testing.T) {
	c := credentials.Credentials{AccessKeyID: "STS.NUxAbCdEfGh", AccessKeySecret: "s/e+c==", SecurityToken: "CAIS+qwertyuiopasdfghjkl/zx=="}
	marshal := func(s string) string {
		text, err := json.Marshal(s + "<&")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var escaped bytes.Buffer
	if err := xml.EscapeText(&escaped, []byte(c.SecurityToken)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		c.SecurityToken, url.QueryEscape(c.SecurityToken), url.QueryEscape(url.QueryEscape(c.SecurityToken)), marshal(c.SecurityToken),
		escaped.String(), c.AccessKeyID, url.QueryEscape(url.QueryEscape(c.AccessKeySecret)), "POST&%2F&AccessKeyId%3DSTS.NUxAbCdEfGh%26Action",
	} {
		if !quotes([]byte("x"+text+"y"), c) {
			t.Errorf("%s is overlooked", text)
		}
	}
	for _, text := range []string{"", "STS", "LTAIother", "CAIS"} {
		if quotes([]byte(text), c) || quotes([]byte(text), credentials.Credentials{}) {
			t.Errorf("%q quotes nothing", text)
		}
	}
}

// TestErrorsQuoteNothing: neither errors of the typed API nor the log show the credentials, whoever quotes them and
// how.
func TestErrorsQuoteNothing(t *testing.T) {
	for name, s := range map[string]step{
		"the cloud's words": {status: 400,
			body: `{"RequestId":"R","Code":"InvalidParameter","Message":"in request AccessKeyId=LTAItest, token sts-token"}`},
		"a wrong signature": {status: 400,
			body: `{"RequestId":"R","Code":"SignatureDoesNotMatch","Message":"no. server string to sign is:SecurityToken%3Dsts-token"}`},
		"a proxy's page":     {status: 502, body: "<html>GET http://h/?AccessKeyId=LTAItest&Security-Token: sts-token</html>"},
		"a proxy's success":  {body: "LTAItest sts-token"},
		"a malformed header": {header: http.Header{"X-Acs-Request-Id": {"LTAItest"}}, body: "sts-token"},
	} {
		var log bytes.Buffer
		w := newWorld(t, newFakeCloud(t, s, s, s, s, s).host(), func(cfg *Config) {
			cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var out struct{ Name string }
		_, err := w.client.Do(ctx, Call{Product: ECS, Action: "DescribeX"}, &out)
		cancel()
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if text := fmt.Sprint(err) + log.String(); strings.Contains(text, "sts-token") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
