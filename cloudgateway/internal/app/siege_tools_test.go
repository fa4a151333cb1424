package app

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// What the tools of a siege call.
const (
	cheapAction  = "vpc:DescribeVpcs"      // as often as they like
	narrowAction = "vpc:DescribeVSwitches" // ten a second
	largeAction  = "ecs:DescribeZones"     // answered with some MiB
	deniedAction = "ecs:StopInstance"      // not permitted
	largeAnswer  = 2 << 20

	besiegers  = 250      // how many tools have a key pair, beside the honest one
	honestTool = "honest" // the id of that

	// unread is how long an answer is left unread: longer than its connection has.
	unread = 35 * time.Second
)

func secretOf(id string) string { return "secret-of-the-tool-" + id }

// toolAssault is what tools with key pairs do, each of which may call, or clients of the admin address.
type toolAssault struct {
	tools int // who do it together; 0: those of the admin address, who have no key pair
	visit func(ctx context.Context, v *visit) error
}

// toolAssaults are theirs. Each visit returns when its connection is of no use any more.
var toolAssaults = map[string]toolAssault{
	"front: idle connections of many tools": {besiegers, callOnce},
	"front: many nodes of one key pair":     {1, callOnce},
	"front: a full queue of a tool": {1, func(ctx context.Context, v *visit) error {
		return v.again(ctx, func() error { return v.call(narrowAction, nil) })
	}},
	"front: slow bodies of tools": {3, func(ctx context.Context, v *visit) error {
		if err := v.call(cheapAction, nil); err != nil {
			return err
		}
		_, err := io.WriteString(v, "POST / HTTP/1.1\r\nHost: front\r\nContent-Length: 100\r\n\r\n")
		for ; err == nil; _, err = io.WriteString(v, "x") {
			pause(ctx, time.Second)
		}
		return nil
	}},
	"front: bodies of 64 MiB of a tool": {1, func(ctx context.Context, v *visit) error {
		if err := v.call(cheapAction, nil); err != nil {
			return err
		}
		var reading sync.WaitGroup
		defer reading.Wait()
		reading.Go(func() { _, _ = v.answer() }) // It may be lost since more was sent.
		_, err := io.WriteString(v, "POST / HTTP/1.1\r\nHost: front\r\nContent-Length: 67108864\r\n\r\n")
		for block, left := make([]byte, 64<<10), 64<<20; err == nil && left > 0; left -= len(block) {
			_, err = v.Write(block)
		}
		return nil
	}},
	"front: invented actions of a tool": {1, func(ctx context.Context, v *visit) error {
		return v.again(ctx, func() error {
			return cmp.Or(v.call("slb:Frobnicate"+rand.Text(), nil), v.call("vpc:DescribeX"+rand.Text(), nil))
		})
	}},
	"front: refused calls of a tool": {1, func(ctx context.Context, v *visit) error {
		return v.again(ctx, func() error { return v.call(deniedAction, map[string]string{"InstanceId": "i-1"}) })
	}},
	"front: sessions of a pod": {1, func(ctx context.Context, v *visit) error {
		return v.again(ctx, func() error {
			body := url.Values{"OIDCToken": {"pod-of-tool"}, "RoleArn": {"acs:ram::1:role/any"}, "RoleSessionName": {"x"}}.Encode()
			text, err := v.ask(fmt.Sprintf("POST /?Action=AssumeRoleWithOIDC&Version=2015-04-01&Format=JSON HTTP/1.1\r\nHost: front\r\n"+
				"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
			var s session
			if err = cmp.Or(err, json.Unmarshal(text, &s)); err != nil || s.Credentials.SecurityToken == "" {
				return err
			}
			v.id, v.secret, v.token = s.Credentials.AccessKeyId, s.Credentials.AccessKeySecret, s.Credentials.SecurityToken
			return v.call(cheapAction, nil)
		})
	}},
	"front: answers that a tool does not read": {1, func(ctx context.Context, v *visit) error {
		v.deaf()
		v.t.Calls.Add(1)
		_, err := io.WriteString(v, v.signed(largeAction, nil))
		pause(ctx, unread)
		return err
	}},
	"admin: pages that nobody reads": {0, func(ctx context.Context, v *visit) error {
		v.deaf()
		v.t.Calls.Add(1)
		_, err := io.WriteString(v, "GET /metrics HTTP/1.1\r\nHost: admin\r\n\r\n")
		pause(ctx, unread)
		return err
	}},
	"admin: readiness, again and again": {0, func(ctx context.Context, v *visit) error {
		return v.again(ctx, func() error {
			_, err := v.ask("GET /readyz HTTP/1.1\r\nHost: admin\r\n\r\n")
			return err
		})
	}},
}

// callOnce makes a call and keeps the connection until the front ends it.
func callOnce(_ context.Context, v *visit) error {
	if err := v.call(cheapAction, nil); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, v.answers)
	return nil
}

// visit is one connection of a tool.
type visit struct {
	net.Conn
	tool

	t       *tally
	answers *bufio.Reader
	leaving func() bool
}

// visit holds one connection until it is of no use. An error says that a call got no answer.
func (t *tally) visit(ctx context.Context, a *assault, of toolAssault, from string, n int) {
	t.Tried.Add(1)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	dial := (&tls.Dialer{NetDialer: dialer, Config: &tls.Config{InsecureSkipVerify: true}}).DialContext
	v := &visit{t: t, leaving: func() bool { return ctx.Err() != nil }}
	if of.tools == 0 {
		dial = dialer.DialContext
	} else {
		v.id = fmt.Sprintf("tool-%d", n%of.tools)
		v.secret = secretOf(v.id)
	}
	c, err := dial(ctx, "tcp", a.Address)
	if err == nil {
		v.Conn, v.answers = c, bufio.NewReader(c)
		leave := context.AfterFunc(ctx, func() { _ = c.Close() })
		t.held(func() { err = of.visit(ctx, v) })
		leave()
		_ = c.Close()
	}
	if ctx.Err() == nil {
		t.Closed.Add(1)
		if err != nil {
			t.Lost.Add(1)
		}
	}
}

// errEnds says that an answer was the last one of its connection.
var errEnds = errors.New("the connection ends")

// again does something until the end of the connection, or of all.
func (v *visit) again(ctx context.Context, do func() error) error {
	for ctx.Err() == nil {
		if err := do(); errors.Is(err, errEnds) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) call(name string, params map[string]string) error {
	_, err := v.ask(v.signed(name, params))
	return err
}

// signed is a request as it goes over the wire.
func (v *visit) signed(name string, params map[string]string) string {
	query := v.sign(http.MethodPost, v.params(name, params))
	return "POST /?" + query + " HTTP/1.1\r\nHost: front\r\nContent-Length: 0\r\n\r\n"
}

func (v *visit) ask(request string) ([]byte, error) {
	v.t.Calls.Add(1)
	if _, err := io.WriteString(v, request); err != nil {
		return nil, err
	}
	return v.answer()
}

// answer reads one, and notes its code.
func (v *visit) answer() ([]byte, error) {
	got, err := http.ReadResponse(v.answers, nil)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return nil, err
	}
	if v.leaving() {
		return body, errEnds // It is about that.
	}
	var said struct{ Code string }
	_ = json.Unmarshal(body, &said) // What is no error has none.
	v.t.mu.Lock()
	defer v.t.mu.Unlock()
	if v.t.codes == nil {
		v.t.codes = map[string]int64{}
	}
	v.t.codes[cmp.Or(said.Code, http.StatusText(got.StatusCode))]++
	v.t.Ended.Add(1)
	if got.Close {
		return body, errEnds
	}
	return body, nil
}

// deaf makes the connection take as little as can be of what is not read from it.
func (v *visit) deaf() {
	c := v.Conn
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
	}
	_ = c.(*net.TCPConn).SetReadBuffer(1)
}
