package front

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestPublishedSignature: the example of the cloud's documents.
func TestPublishedSignature(t *testing.T) {
	t.Parallel()
	query := "Timestamp=2016-02-23T12%3A46%3A24Z&Format=XML&AccessKeyId=testid&Action=DescribeRegions&SignatureMethod=HMAC-SHA1&" +
		"SignatureNonce=3ee8c1b8-83d3-44af-a94f-4e0ad82fd6cf&Version=2014-05-26&SignatureVersion=1.0&Signature=OLeaidS1JvxuMvnyHOwuJ%2BuX5qY%3D"
	req, err := parse(httptest.NewRequest(http.MethodGet, "/?"+query, http.NoBody), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !req.signature.by("testsecret") || req.signature.by("another") {
		t.Error("the published signature is not accepted, or any is")
	}
	if req.action != "DescribeRegions" || req.version != "2014-05-26" || req.keyID != "testid" || !req.xml || len(req.query) != 0 {
		t.Errorf("read %+v", req)
	}
}

const common = "AccessKeyId=k&Action=DescribeRegions&SignatureMethod=HMAC-SHA1&SignatureNonce=n&" +
	"Version=2014-05-26&Signature=s&Timestamp=2026-01-02T03:04:05Z"

// TestParse: what could be understood in two ways, or is of no known form, is refused before anything is looked up.
func TestParse(t *testing.T) {
	t.Parallel()
	v3 := map[string]string{
		"Authorization": acs3 +
			" Credential=k,SignedHeaders=host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version,Signature=s",
		"X-Acs-Action": "DescribeRegions", "X-Acs-Version": "2014-05-26", "X-Acs-Date": "2026-01-02T03:04:05Z", "X-Acs-Signature-Nonce": "n",
		"X-Acs-Content-Sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	}
	with := func(change ...string) map[string]string {
		headers := maps.Clone(v3)
		for i := 0; i < len(change); i += 2 {
			headers[change[i]] = change[i+1]
		}
		return headers
	}
	v1 := map[string]string{
		"Authorization": "acs k:s", "X-Acs-Action": "DescribeRegions", "X-Acs-Version": "2015-12-15", "X-Acs-Signature-Nonce": "n",
		"Date": "Fri, 02 Jan 2026 03:04:05 GMT",
	}
	with1 := func(name, value string) map[string]string {
		headers := maps.Clone(v1)
		headers[name] = value
		return headers
	}
	tests := []struct {
		name, method, target, body string
		headers                    map[string]string
		want                       string // the code; empty: it is read
	}{
		{"query", "GET", "/?" + common, "", nil, ""},
		{"form", "POST", "/", common, nil, ""},
		{"both", "POST", "/?" + common, "InstanceId=i-1", nil, ""},
		{"version 3", "POST", "/?InstanceId=i-1", "", v3, ""},
		{"another method", "PUT", "/?" + common, "", nil, "InvalidAction.NotFound"},
		{"a path without a signature in headers", "GET", "/clusters?" + common, "", nil, "InvalidSignatureMethod"},
		{"a path", "GET", "/clusters/c-1?a=b", "", v3, ""},
		{"a path with dots", "GET", "/clusters/../k8s/c-1/user_config", "", v3, "InvalidAction.NotFound"},
		{"a path that is encoded", "GET", "/clusters/c-1%2Fnodes", "", v3, "InvalidAction.NotFound"},
		{"a path with a word twice encoded", "GET", "/clusters/c-1%252Fnodes", "", v3, "InvalidAction.NotFound"},
		{"a path with an empty word", "GET", "//clusters/c-1", "", v3, "InvalidAction.NotFound"},
		{"a path with a slash at its end", "GET", "/clusters/c-1/", "", v3, "InvalidAction.NotFound"},
		{"a path with a semicolon", "GET", "/clusters/c-1;x", "", v3, "InvalidAction.NotFound"},
		{"an action beside a path", "GET", "/clusters/c-1?Action=DeleteCluster", "", v3, "InvalidParameter"},
		{"a parameter twice beside a path", "GET", "/clusters/c-1?a=b&A=c", "", v3, "InvalidParameter"},
		{"another body beside a path", "POST", "/clusters/c-1/attachscript", "{}", v3, "SignatureDoesNotMatch"},
		{"a path, version 1", "GET", "/clusters/c-1?a=b", "", v1, ""},
		{"a body without its MD5", "POST", "/clusters/c-1/attachscript", "{}", v1, "SignatureDoesNotMatch"},
		{"the MD5 of another body", "POST", "/clusters/c-1/attachscript", "{}", with1("Content-Md5", "1B2M2Y8AsgTpgAmY7PhCfg=="),
			"SignatureDoesNotMatch"},
		{"another method of signing", "GET", "/clusters/c-1", "", with1("X-Acs-Signature-Method", "HMAC-MD5"), "InvalidSignatureMethod"},
		{"a bearer beside a path", "GET", "/clusters/c-1", "", with1("X-Acs-Bearer-Token", "x"), "InvalidSecurityToken.Malformed"},
		{"no date", "GET", "/clusters/c-1", "", with1("Date", ""), "InvalidTimeStamp.Format"},
		{"version 1 in headers without a path", "GET", "/", "", v1, "InvalidSignatureMethod"},
		{"JSON", "POST", "/?" + common, "{}", map[string]string{"Content-Type": "application/json"}, "UnsupportedContentType"},
		{"twice", "GET", "/?" + common + "&InstanceId=i-1&InstanceId=i-2", "", nil, "InvalidParameter"},
		{"in both", "POST", "/?" + common + "&InstanceId=i-1", "InstanceId=i-2", nil, "InvalidParameter"},
		{"in two spellings", "GET", "/?" + common + "&InstanceId=i-1&instanceid=i-2", "", nil, "InvalidParameter"},
		{"action in two spellings", "GET", "/?" + common + "&action=DeleteInstance", "", nil, "InvalidParameter"},
		{"a name with a space", "GET", "/?" + common + "&InstanceId%20=i-1", "", nil, "InvalidParameter"},
		{"a name with brackets", "GET", "/?" + common + "&InstanceId[]=i-1", "", nil, "InvalidParameter"},
		{"a name with a zero", "GET", "/?" + common + "&InstanceId%00=i-1", "", nil, "InvalidParameter"},
		{"a name in wide letters", "POST", "/?" + common, "%EF%BC%A9nstanceId=i-1", nil, "InvalidParameter"},
		{"a name that is empty", "POST", "/?" + common, "=i-1", nil, "InvalidParameter"},
		{"a token in small letters", "GET", "/?" + common + "&securitytoken=x", "", nil, "InvalidParameter"},
		{"a kind of signature in small letters", "POST", "/?" + common, "signaturetype=BEARERTOKEN", nil, "InvalidParameter"},
		{"semicolons", "GET", "/?" + common + "&a=1;b=2", "", nil, "InvalidParameter"},
		{"too many", "GET", "/?" + common + strings.Repeat("&", mostParameters), "", nil, "InvalidParameter"},
		{"a security token", "GET", "/?" + common + "&SecurityToken=x", "", nil, ""},
		{"a bearer", "GET", "/?" + common + "&BearerToken=x", "", nil, "InvalidSecurityToken.Malformed"},
		{"a bearer by its kind", "GET", "/?" + common + "&SignatureType=BEARERTOKEN", "", nil, "InvalidSecurityToken.Malformed"},
		{"another signature", "GET", "/?" + strings.Replace(common, "HMAC-SHA1", "SHA256withRSA", 1), "", nil, "InvalidSignatureMethod"},
		{"no action", "GET", "/?" + strings.Replace(common, "DescribeRegions", "", 1), "", nil, "MissingAction"},
		{"an action that is none", "GET", "/?" + strings.Replace(common, "DescribeRegions", "A%0aB", 1), "", nil, "MissingAction"},
		{"no nonce", "GET", "/?" + strings.Replace(common, "SignatureNonce=n", "SignatureNonce=", 1), "", nil, "MissingSignatureNonce"},
		{"no time", "GET", "/?" + strings.Replace(common, "2026-01-02T03:04:05Z", "now", 1), "", nil, "InvalidTimeStamp.Format"},
		{"an action beside the signed one", "POST", "/?Action=DeleteInstance", "", v3, "InvalidParameter"},
		{"one in the body", "POST", "/", "aCtion=DeleteInstance",
			with("X-Acs-Content-Sha256", digestOf("aCtion=DeleteInstance")), "InvalidParameter"},
		{"another body", "POST", "/", "InstanceId=i-1", v3, "SignatureDoesNotMatch"},
		{"an unsigned action", "POST", "/", "", with("Authorization", acs3+" Credential=k,SignedHeaders=host,Signature=s"),
			"SignatureDoesNotMatch"},
		{"a signed header that is not there", "POST", "/", "", with("X-Acs-Date", ""), "InvalidTimeStamp.Format"},
		{"a token in a header that is not signed", "POST", "/", "", with("X-Acs-Security-Token", "x"), "SignatureDoesNotMatch"},
		{"a bearer in a header", "POST", "/", "", with("X-Acs-Bearer-Token", "x"), "InvalidSecurityToken.Malformed"},
		{"SM3", "POST", "/", "", with("Authorization", "ACS3-HMAC-SM3 x"), "InvalidSignatureMethod"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(tt.method, tt.target, http.NoBody)
			for name, value := range tt.headers {
				r.Header.Set(name, value)
			}
			req, err := parse(r, []byte(tt.body))
			refused, _ := errors.AsType[*refusal](err)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want == "" && (req.action != "DescribeRegions" || req.keyID != "k" || req.nonce != "n"):
				t.Errorf("read %+v", req)
			case tt.want != "" && (refused == nil || refused.code != tt.want):
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func digestOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// TestEachHeaderIsSigned: whoever sees a signed request can't send it again with another value of any of these.
func TestEachHeaderIsSigned(t *testing.T) {
	t.Parallel()
	signed := []string{"host", "x-acs-action", "x-acs-content-sha256", "x-acs-date", "x-acs-signature-nonce", "x-acs-version"}
	for i, name := range signed {
		rest := slices.Delete(slices.Clone(signed), i, i+1)
		r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
		r.Header.Set("Authorization", acs3+" Credential=k,SignedHeaders="+strings.Join(rest, ";")+",Signature=s")
		for _, header := range signed[1:] {
			r.Header.Set(header, "x")
		}
		r.Header.Set("X-Acs-Content-Sha256", digestOf(""))
		r.Header.Set("X-Acs-Date", "2026-01-02T03:04:05Z")
		if _, err := parse(r, nil); err == nil || !strings.Contains(err.Error(), name+" is not signed") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// TestHeadersOnce: a header that is there twice has no certain value.
func TestHeadersOnce(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	r.Header.Set("Authorization", acs3+" Credential=k,SignedHeaders=host;x-acs-action,Signature=s")
	r.Header.Add("X-Acs-Action", "DescribeRegions")
	r.Header.Add("X-Acs-Action", "DeleteInstance")
	if _, err := parse(r, nil); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("got %v", err)
	}
}

// FuzzParse: whatever comes, it is read or refused, and nothing of the signature is passed on.
func FuzzParse(f *testing.F) {
	f.Add("GET", common, "", "")
	f.Add("POST", "Action=A&Tag.1.Key=%zz", "a=b;c=d", "")
	f.Add("POST", common, "securitytoken=x", "")
	f.Add("POST", "", "=&=&%", acs3+" Credential=a,SignedHeaders=;;host,Signature")
	f.Fuzz(func(t *testing.T, method, query, body, authorization string) {
		r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
		r.Method, r.URL.RawQuery = method, query
		r.Header.Set("Authorization", authorization)
		req, err := parse(r, []byte(body))
		if err != nil {
			if refused, ok := errors.AsType[*refusal](err); !ok || refused.status >= http.StatusInternalServerError {
				t.Fatalf("answered %v", err)
			}
			return
		}
		for _, params := range []map[string]string{req.query, req.form} {
			for name := range params {
				for _, s := range system() {
					if strings.EqualFold(s, name) {
						t.Fatalf("%s is passed on", name)
					}
				}
			}
		}
		if req.signature.by("secret") && req.signature.given == "" {
			t.Fatal("no signature is accepted")
		}
	})
}

func TestNonces(t *testing.T) {
	t.Parallel()
	var n nonces
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	use := func(key, nonce string, want string) {
		t.Helper()
		err := n.use(key, nonce, now)
		if got, _ := errors.AsType[*refusal](err); got == nil && want != "" || got != nil && got.code != want {
			t.Errorf("%s %s: %v, want %q", key, nonce, err, want)
		}
	}
	use("k", "a", "")
	use("k", "a", "SignatureNonceUsed")
	use("other", "a", "")
	// Not before a request with it would be too old, whenever it came, is a nonce forgotten.
	for range 4 {
		came := now
		use("k", now.String(), "")
		for !now.After(came.Add(oldest + earliest)) {
			use("k", came.String(), "SignatureNonceUsed")
			now = now.Add(time.Minute)
		}
	}
	now = now.Add(3 * (oldest + earliest))
	use("third", "x", "")
	now = now.Add(oldest + earliest)
	use("third", "y", "")
	if _, kept := n.keys["other"]; kept || n.all > 4 {
		t.Errorf("%d nonces are kept, of %d key pairs", n.all, len(n.keys))
	}
}

// TestNoncesAreCounted: the number of all nonces, by which requests are refused, is that of those which are remembered, however many come
// in each half of the time.
func TestNoncesAreCounted(t *testing.T) {
	t.Parallel()
	var n nonces
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for half, used := range []int{5, 1, 0, 7, 2, 0, 0, 1} {
		for i := range used {
			if err := n.use("k", fmt.Sprint(half, " ", i), now); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.use("other", fmt.Sprint(half), now); err != nil {
			t.Fatal(err)
		}
		all := 0
		for _, of := range n.keys {
			all += of.count()
		}
		if n.all != all {
			t.Errorf("after half %d %d nonces are counted, and %d are remembered", half, n.all, all)
		}
		now = now.Add(oldest + earliest)
	}
}

// TestNoncesAreRememberedLongEnough: a nonce that is used just before the older half goes, of a tool whose clock is ahead, is remembered
// for as long as its request would be accepted, by the second half.
func TestNoncesAreRememberedLongEnough(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for used := time.Duration(0); used <= 2*(oldest+earliest); used += 30 * time.Second {
		var n nonces
		signed := began.Add(used + earliest) // It is the latest that is accepted.
		now := began
		for ; !now.After(signed.Add(oldest)); now = now.Add(30 * time.Second) {
			if err := n.use("k", now.String(), now); err != nil {
				t.Fatal(err)
			}
			since := now.Sub(began)
			err := error(nil)
			if since >= used {
				err = n.use("k", "x", now)
			}
			if got, _ := errors.AsType[*refusal](err); (since > used) != (got != nil && got.code == "SignatureNonceUsed") {
				t.Fatalf("used after %s, and again after %s: %v", used, since, err)
			}
		}
	}
}

// TestNoncesOfHostilePairs: pairs that use as many as they can keep no other one out.
func TestNoncesOfHostilePairs(t *testing.T) {
	t.Parallel()
	var n nonces
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	flood := func(key string) (taken int) {
		for n.use(key, strconv.Itoa(taken), now) == nil {
			taken++
		}
		return taken
	}
	if taken := flood("alone"); taken != mostNonces {
		t.Errorf("a pair that is alone may use %d nonces, not %d", taken, mostNonces)
	}
	for pairs := 2; pairs <= 16; pairs++ {
		if taken := flood(fmt.Sprint("pair ", pairs)); taken != (mostNonces+pairs-1)/pairs {
			t.Errorf("the last one of %d pairs may use %d nonces, not its part of %d", pairs, taken, mostNonces)
		}
	}
	if n.all > 4*mostNonces {
		t.Errorf("%d nonces are remembered, more than four times %d", n.all, mostNonces)
	}
}

// TestNoncesOfABusyPair: a pair that uses as many as it can costs one that makes a call now and then nothing, however many others there
// are that make none.
func TestNoncesOfABusyPair(t *testing.T) {
	t.Parallel()
	var n nonces
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range 60 {
		if err := n.use(fmt.Sprint("idle ", i), "once", now); err != nil {
			t.Fatal(err)
		}
	}
	taken := 0
	for n.use("busy", strconv.Itoa(taken), now) == nil {
		taken++
	}
	for i := range 3_000 { // three a second
		if err := n.use("modest", strconv.Itoa(i), now); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	if err := n.use("busy", "more", now); err == nil || taken < mostNonces-60 || n.all > mostNonces+3_000 {
		t.Errorf("the busy pair may use %d nonces, and then %v; %d are remembered", taken, err, n.all)
	}
}

func TestTimely(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 500, time.UTC)
	tests := []struct {
		name      string
		at, began time.Time
		want      string // the code
	}{
		{"now", now.Truncate(time.Second), now, ""},
		{"old", now.Add(-14 * time.Minute), now.Add(-time.Hour), ""},
		{"too old", now.Add(-16 * time.Minute), now.Add(-time.Hour), "InvalidTimeStamp.Expired"},
		{"too old, and of before the term", now.Add(-16 * time.Minute), now, "InvalidTimeStamp.Expired"},
		{"ahead", now.Add(50 * time.Second), now, ""},
		{"too far ahead", now.Add(2 * time.Minute), now, "InvalidTimeStamp.Expired"},
		// Terraform and SDKs that are set to repeat do so after a status of 500 or more, signed anew, and not after 400.
		{"of before the term", now.Add(-2 * time.Second), now, "ServiceUnavailable"},
		{"of before the term, by a clock that is behind", now.Add(-14 * time.Minute), now.Add(-time.Minute), "ServiceUnavailable"},
	}
	for _, tt := range tests {
		got := &refusal{}
		if err := timely(tt.at, now, tt.began); err != nil {
			got = refusalOf(err)
		}
		if retried := got.status >= http.StatusInternalServerError && got.after > 0; got.code != tt.want ||
			retried != (tt.want == "ServiceUnavailable") {
			t.Errorf("%s: %d %s, after %s", tt.name, got.status, got.code, got.after)
		}
	}
}
