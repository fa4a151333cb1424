package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"

	"alicloud-controllers.dev/services/logging"
)

const hush = "q7Xk2hush"

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{name: "nothing", in: "read lb-1: 3 of 4 done", want: "read lb-1: 3 of 4 done"},
		{name: "signed URL", in: "Get https://slb/?Action=X&Signature=" + hush + "&SecurityToken=" + hush + "%3D&Version=1",
			want: "Get https://slb/?Action=X&Signature=REDACTED&SecurityToken=REDACTED&Version=1"},
		{name: "signature's neighbours stay", in: "SignatureMethod=HMAC-SHA1&SignatureNonce=1",
			want: "SignatureMethod=HMAC-SHA1&SignatureNonce=1"},
		{name: "JSON", in: `{"AccessKeySecret" : "` + hush + `","AccessKeyId":"x"}`, want: `{"AccessKeySecret" : "REDACTED","AccessKeyId":"x"}`},
		{name: "YAML", in: "access_key_secret: " + hush + "\n", want: "access_key_secret: REDACTED\n"},
		{name: "percent-encoded", in: "GET&%2F&SecurityToken%3D" + hush + "%26Version%253D1 signature%253d" +
			hush, want: "GET&%2F&SecurityToken%3DREDACTED signature%253dREDACTED"},
		{name: "private key", in: "got -----BEGIN EC PRIVATE KEY-----\n" + hush + "\n" + hush +
			"=\n-----END EC PRIVATE KEY-----\nand more", want: "got REDACTED\nand more"},
		{name: "private key in a form", in: "Key=-----BEGIN+EC+PRIVATE+KEY-----%0A" + hush + "%3D%0A-----END+EC+PRIVATE+KEY-----%0A&Name=web",
			want: "Key=REDACTED&Name=web"},
		{name: "private key in a URL", in: "Key=-----BEGIN%20PRIVATE%20KEY-----%0A" + hush + "%0A-----END%20PRIVATE%20KEY-----&Name=web",
			want: "Key=REDACTED&Name=web"},
		{name: "private key in one line, cut off", in: "PrivateKey=-----BEGIN PRIVATE KEY----- " + hush + " " +
			hush, want: "PrivateKey=REDACTED"},
		{name: "private key in a form", in: "PrivateKey=-----BEGIN+PRIVATE+KEY-----%0A" + hush + "%0A&RegionId=x",
			want: "PrivateKey=REDACTED&RegionId=x"},
		{name: "the field of a private key", in: "pem.private_key_pem: is required", want: "pem.private_key_pem: is required"},
		{name: "certificate", in: "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
			want: "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----"},
		{name: "ServiceAccount token", in: "Bearer eyJhbGciOi.eyJpc3MiOi.c2ln refused", want: "Bearer REDACTED refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := logging.Redact(tc.in); got != tc.want {
				t.Errorf("Redact(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestNoWayOutForSecrets(t *testing.T) {
	t.Parallel()
	secret := logging.Secret(hush)
	type holder struct{ Key logging.Secret }
	encoded, err := json.Marshal(holder{secret})
	if err != nil {
		t.Fatal(err)
	}
	for name, shown := range map[string]string{
		"%v": fmt.Sprint(secret), "%+v": fmt.Sprintf("%+v", holder{secret}), "%#v": fmt.Sprintf("%#v", holder{secret}),
		"String": secret.String(), "%q": fmt.Sprintf("%q", secret), "JSON": string(encoded),
	} {
		if strings.Contains(shown, hush) {
			t.Errorf("%s shows %s", name, shown)
		}
	}
	for _, format := range []string{"json", "text"} {
		var out bytes.Buffer
		log, err := logging.New(logging.Config{Level: "debug", Format: format}, &out)
		if err != nil {
			t.Fatal(err)
		}
		signed := fmt.Errorf("get: %w", errors.New("https://slb/?Signature="+hush))
		log.Debug("all", "secret", secret, "holder", holder{secret}, "error", signed, "url", "https://slb/?SecurityToken="+hush,
			"accessKeySecret", hush, slog.Group("call", "token", hush))
		log.Info("in the message: Signature=" + hush)
		log.With("password", hush).Error("in the logger")
		if strings.Contains(out.String(), hush) {
			t.Errorf("the %s log shows a secret:\n%s", format, out.String())
		}
		if got := strings.Count(out.String(), "REDACTED"); got < 8 {
			t.Errorf("the %s log shows %d redactions, want 8:\n%s", format, got, out.String())
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := logging.New(logging.Config{}, &out)
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("hidden")
	log.Info("shown", "n", 1)
	var line struct {
		Level, Msg string
		N          int
	}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line.Level != "INFO" || line.Msg != "shown" || line.N != 1 {
		t.Errorf("the default log is not one line of JSON at level info: %s (%v)", out.String(), err)
	}
	_, err = logging.New(logging.Config{Level: "loud", Format: "xml"}, io.Discard)
	want := `logging.level: "loud" is not one of debug, info, warn, error
logging.format: "xml" is not one of json, text`
	if err == nil || err.Error() != want {
		t.Errorf("New = %v, want %s", err, want)
	}
}

// TestBridge is not parallel: it changes the loggers of the process.
func TestBridge(t *testing.T) {
	var out bytes.Buffer
	log, err := logging.New(logging.Config{Level: "debug", Format: "text"}, &out)
	if err != nil {
		t.Fatal(err)
	}
	logging.Bridge(log)
	klog.InfoS("of client-go", "key", "value")
	klog.Flush()
	for name, write := range map[string]func(...any){
		"info": grpclog.Infoln, "warning": grpclog.Warningln, "error": grpclog.Errorln,
	} {
		write("of grpc:", name)
	}
	for _, want := range []string{
		`msg="of client-go" library=client-go key=value`,
		`level=DEBUG msg="gRPC says" library=grpc text="of grpc: info"`,
		`level=INFO msg="gRPC says" library=grpc text="of grpc: warning"`,
		`level=WARN msg="gRPC says" library=grpc text="of grpc: error"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, out.String())
		}
	}
}
