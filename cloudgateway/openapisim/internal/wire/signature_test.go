package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
)

const (
	testKeyID  = "LTAI5tTestKey"
	testSecret = "test~secret+with*signs"
)

// A signature made by hand, step by step as documented, so that not only the SDK vouches for ours.
func TestStringToSignV1(t *testing.T) {
	t.Parallel()
	got := stringToSignV1(http.MethodGet, map[string]string{
		"Action": "DescribeRegions", "Format": "XML", "Timestamp": "2012-12-26T10:33:56Z", "Name": "a b*~ü",
		"Signature": "never signed", "Empty": "",
	})
	want := "GET&%2F&Action%3DDescribeRegions%26Empty%3D%26Format%3DXML%26" +
		"Name%3Da%2520b%252A~%25C3%25BC%26Timestamp%3D2012-12-26T10%253A33%253A56Z"
	if got != want {
		t.Errorf("string to sign\n got %s\nwant %s", got, want)
	}
}

// The published example of the RPC signature.
func TestSignV1(t *testing.T) {
	t.Parallel()
	toSign := stringToSignV1(http.MethodGet, map[string]string{
		"Timestamp": "2016-02-23T12:46:24Z", "Format": "XML", "AccessKeyId": "testid", "Action": "DescribeRegions",
		"SignatureMethod": "HMAC-SHA1", "SignatureNonce": "3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf", "Version": "2014-05-26",
		"SignatureVersion": "1.0",
	})
	if got, want := signV1("testsecret", toSign), "OLeaidS1JvxuMvnyHOwuJ+uX5qY="; got != want {
		t.Errorf("signature is %s, want %s", got, want)
	}
}

// Requests that the real SDK signed are accepted, in every way in which clients send parameters.
func TestSignaturesOfTheSDK(t *testing.T) {
	t.Parallel()
	strange := "a b*c~d+e/f=g&h ü 漢 'q' \"j\" %41"
	tests := []struct {
		name       string
		credential auth.Credential
		change     func(*requests.CommonRequest)
	}{
		{"GET", credentials.NewAccessKeyCredential(testKeyID, testSecret), func(r *requests.CommonRequest) {
			r.Method = http.MethodGet
			r.QueryParams["Name"] = strange
		}},
		{"POST with query", credentials.NewAccessKeyCredential(testKeyID, testSecret), func(r *requests.CommonRequest) {
			r.Method = http.MethodPost
			r.QueryParams["BackendServers"] = `[{"ServerId":"i-1","Port":"80","Weight":"100"}]`
		}},
		{"POST with form", credentials.NewAccessKeyCredential(testKeyID, testSecret), func(r *requests.CommonRequest) {
			r.Method = http.MethodPost
			r.QueryParams["Name"] = strange
			r.FormParams["Tag.1.Key"] = strange
			r.FormParams["Tag.1.Value"] = ""
		}},
		{"empty parameter name", credentials.NewAccessKeyCredential(testKeyID, testSecret), func(r *requests.CommonRequest) {
			r.QueryParams[""] = "x"
		}},
		{"security token", credentials.NewStsTokenCredential(testKeyID, testSecret, "token+/=="), func(*requests.CommonRequest) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := parse(t, sdkRequest(t, tt.credential, tt.change))
			if err := req.CheckSystem(); err != nil {
				t.Fatal(err)
			}
			if err := req.CheckSignature(testSecret); err != nil {
				t.Error(err)
			}
			if err := req.CheckSignature("another secret"); err == nil || !strings.Contains(err.Message, "server string to sign is:") {
				t.Errorf("with another secret: %v", err)
			}
			if req.Action != "DescribeRegions" || req.Version != "2014-05-26" || req.AccessKeyID != testKeyID {
				t.Errorf("read %+v", req)
			}
		})
	}
}

// sdkRequest is a request as the SDK sends it.
func sdkRequest(t *testing.T, credential auth.Credential, change func(*requests.CommonRequest)) *http.Request {
	t.Helper()
	client, err := sdk.NewClientWithOptions("cn-hangzhou", sdk.NewConfig(), credential)
	if err != nil {
		t.Fatal(err)
	}
	r := requests.NewCommonRequest()
	r.Domain, r.Version, r.ApiName, r.Scheme = "localhost", "2014-05-26", "DescribeRegions", "HTTP"
	change(r)
	r.TransToAcsRequest()
	if err := client.BuildRequestWithSigner(r, nil); err != nil {
		t.Fatal(err)
	}
	sent := httptest.NewRequest(r.GetMethod(), r.BuildUrl(), r.GetBodyReader())
	for name, value := range r.GetHeaders() {
		sent.Header.Set(name, value)
	}
	return sent
}

func parse(t *testing.T, r *http.Request) *Request {
	t.Helper()
	req, err := Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestSignatureV3(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		spoil  func(*http.Request)
		secret string
		want   bool
	}{
		{"right", func(*http.Request) {}, testSecret, true},
		{"wrong secret", func(*http.Request) {}, "other", false},
		{"another host", func(r *http.Request) { r.Host = "elsewhere:1" }, testSecret, false},
		{"another query", func(r *http.Request) { r.URL.RawQuery = "RegionId=cn-beijing" }, testSecret, false},
		{"another action", func(r *http.Request) { r.Header.Set("x-acs-action", "DeleteLoadBalancer") }, testSecret, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := signedV3("Name=a+b&Servers.1.Port=80")
			tt.spoil(r)
			req := parse(t, r)
			if err := req.CheckSystem(); err != nil {
				t.Fatal(err)
			}
			if err := req.CheckSignature(tt.secret); (err == nil) != tt.want {
				t.Errorf("CheckSignature: %v, want success %v", err, tt.want)
			}
			if tt.want && (req.Values["Name"] != "a b" || req.Values["RegionId"] != "cn-hangzhou" || req.AccessKeyID != testKeyID) {
				t.Errorf("read %+v", req)
			}
		})
	}
	r := signedV3("Name=a")
	r.Header.Set("x-acs-content-sha256", strings.Repeat("0", 64))
	if _, err := Parse(r); err == nil || err.Code != "SignatureDoesNotMatch" {
		t.Errorf("with another body: %v", err)
	}
}

// signedV3 is a request as clients of version 3 send it.
func signedV3(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:9000/?RegionId=cn-hangzhou&Tag=%2A~", strings.NewReader(body))
	bodyHash := sha256.Sum256([]byte(body))
	signed := [][2]string{
		{"content-type", "application/x-www-form-urlencoded"}, {"host", "127.0.0.1:9000"}, {"x-acs-action", "CreateLoadBalancer"},
		{"x-acs-content-sha256", hex.EncodeToString(bodyHash[:])}, {"x-acs-date", "2026-01-02T03:04:05Z"},
		{"x-acs-signature-nonce", "n1"}, {"x-acs-version", "2022-04-30"},
	}
	var headers, names []string
	for _, h := range signed {
		headers, names = append(headers, h[0]+":"+h[1]+"\n"), append(names, h[0])
		if h[0] != "host" {
			r.Header.Set(h[0], h[1])
		}
	}
	canonical := "POST\n/\nRegionId=cn-hangzhou&Tag=%2A~\n" + strings.Join(headers, "") + "\n" + strings.Join(names, ";") +
		"\n" + hex.EncodeToString(bodyHash[:])
	hash := sha256.Sum256([]byte(canonical))
	mac := hmac.New(sha256.New, []byte(testSecret))
	mac.Write([]byte("ACS3-HMAC-SHA256\n" + hex.EncodeToString(hash[:])))
	r.Header.Set("Authorization", "ACS3-HMAC-SHA256 Credential="+testKeyID+",SignedHeaders="+strings.Join(names, ";")+
		",Signature="+hex.EncodeToString(mac.Sum(nil)))
	return r
}

func FuzzParse(f *testing.F) {
	f.Add("GET", "Action=DescribeRegions&Version=2014-05-26&Signature=x", "", "", "")
	f.Add("POST", "Action=A&Tag.1.Key=%zz", "a=b;c=d", "application/x-www-form-urlencoded", "")
	f.Add("POST", "", "=&=&%", "multipart/form-data; boundary=x", "ACS3-HMAC-SHA256 Credential=a,SignedHeaders=;;host,Signature")
	f.Fuzz(func(t *testing.T, method, query, body, contentType, authorization string) {
		r := &http.Request{
			Method: method, URL: &url.URL{Path: "/", RawQuery: query}, Host: "h", Header: http.Header{},
			Body: http.NoBody, ContentLength: int64(len(body)),
		}
		if body != "" {
			r.Body = httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).Body
		}
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("Authorization", authorization)
		req, err := Parse(r)
		if req == nil {
			t.Fatal("no request")
		}
		if err != nil {
			if err.Status >= 500 || err.Code == "" {
				t.Fatalf("answered %v", err)
			}
			return
		}
		if err := req.CheckSystem(); err == nil {
			if err := req.CheckSignature("secret"); err != nil && err.Status >= 500 {
				t.Fatalf("answered %v", err)
			}
		}
		if params := req.Params(); params["Signature"] != "" || params["SecurityToken"] != "" {
			t.Fatal("secrets among the parameters")
		}
	})
}
