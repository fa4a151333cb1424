package front

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/peer"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// session serves from the time on at which this replica became the active one.
type session struct {
	*Front

	guard *rpc.Guard
	began time.Time
}

// call is a request on its way through the front.
type call struct {
	id      string // RequestId of an answer that the gateway gives itself
	begun   time.Time
	address string
	request *request
	product openapi.Product
	key     Key // empty until the signature is checked
	name    string
	noted   func() []any
	made    []string // what the answer names
	changed bool     // something may have been, whatever the tool got
}

// ServeHTTP implements http.Handler.
func (s *session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	conn, _ := r.Context().Value(connectionKey{}).(net.Conn)
	if !s.guard.Called(conn) {
		panic(http.ErrAbortHandler) // The tool sends it once more, on another connection.
	}
	c := &call{id: newRequestID(), begun: time.Now(), address: r.RemoteAddr, request: &request{}}
	work, err := s.admit(r, conn, c)
	if err != nil {
		s.guard.Refused(conn)
		w.Header().Set("Connection", "close")
		s.refuse(w, c, err)
		return
	}
	defer work.End()
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // What is left is to see that the tool leaves.
	answer, err := s.answer(r.Context(), c, work)
	if err != nil {
		s.refuse(w, c, err)
		return
	}
	for name, values := range answer.Header {
		if passed(name) {
			w.Header()[name] = values
		}
	}
	outcome := "ok"
	if answer.Status >= http.StatusBadRequest {
		outcome = "error"
	}
	s.calls.WithLabelValues(outcome).Inc()
	if c.request.exchange == nil {
		c.made = madeBy(answer.Body)
	}
	s.audit(c, outcome, answer.Status, nil)
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body) // The tool may be gone.
}

// admit finds out who calls and whether that caller may: all that can be said without asking the cloud.
func (s *session) admit(r *http.Request, conn net.Conn, c *call) (work rpc.Work, err error) {
	body, err := readBody(r)
	if err != nil {
		return work, refuse(http.StatusBadRequest, "InvalidRequest", "the body did not come to its end")
	}
	if len(body) > mostBody || r.ContentLength > mostBody {
		return work, refuse(http.StatusRequestEntityTooLarge, "RequestTooLarge", "the body is longer than 128 KiB")
	}
	req, err := parse(r, body)
	if err != nil {
		return work, err
	}
	c.request = req
	ctx := peer.NewContext(r.Context(), &peer.Peer{Addr: conn.RemoteAddr()}) // whose tokens are looked up
	if err := s.recognise(ctx, c); err != nil {
		return work, err
	}
	if err := c.addressed(r.Host); err != nil {
		return work, err
	}
	if err := s.allow(r.Context(), c); err != nil {
		return work, err
	}
	if err := s.guard.Proved(conn, c.key.User); err != nil {
		return work, because(reasonConnections, err)
	}
	work, err = s.guard.Begin(c.key.User)
	if err != nil {
		return work, because(reasonCalls, err)
	}
	if err := work.Hold(2 * (len(body) + len(r.URL.RawQuery))); err != nil { //nolint:mnd // As text and as parameters.
		work.End()
		return work, because(reasonBytes, err)
	}
	return work, nil
}

// readBody reads a body, and one byte more than the most that it may have. What grows while it comes takes three times as much.
func readBody(r *http.Request) ([]byte, error) {
	size := r.ContentLength
	if size < 0 || size > mostBody {
		size = mostBody
	}
	body := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := body.ReadFrom(io.LimitReader(r.Body, mostBody+1))
	return body.Bytes(), err
}

// recognise finds out whose request it is. It is of one use.
func (s *session) recognise(ctx context.Context, c *call) error {
	if c.request.exchange != nil {
		return s.identified(ctx, c)
	}
	key, err := s.found(c.request, time.Now())
	if err != nil {
		return err
	}
	if err := timely(c.request.at, time.Now(), s.began); err != nil {
		return err
	}
	if !c.request.signature.by(string(key.Secret)) {
		return refuse(http.StatusBadRequest, "SignatureDoesNotMatch", "Specified signature is not matched with our calculation.")
	}
	c.key = key
	if err := s.lives(ctx, key); err != nil {
		return err
	}
	return s.nonces.use(key.uses(), c.request.nonce, time.Now())
}

// allow refuses what the caller may not do, whatever it is about.
func (s *session) allow(ctx context.Context, c *call) error {
	if c.product == openapi.STS && c.request.exchange == nil && c.request.action != "GetCallerIdentity" {
		return refuse(http.StatusForbidden, "Forbidden.RAM",
			"of STS the front passes on GetCallerIdentity only: the others give credentials away")
	}
	if err := s.permitted(ctx, c.key.caller(), c.product, c.request.action); err != nil {
		return err
	}
	return s.here(c.request)
}

// addressed finds out for which product and action a request is.
func (c *call) addressed(host string) error {
	product, err := productOf(host, c.request.version)
	if err != nil {
		return err
	}
	switch {
	case c.request.exchange != nil && product != openapi.STS:
		return refuse(http.StatusNotFound, "InvalidAction.NotFound", assume+" is an action of STS")
	case product.HasPaths() != (c.request.path != ""):
		return refuse(http.StatusNotFound, "InvalidAction.NotFound", "the actions of "+string(product)+
			" are not called so: of some products they have paths, of others names")
	case product.HasPaths():
		if err := c.request.byPath(); err != nil {
			return err
		}
	}
	c.product, c.name = product, string(product)+":"+c.request.action
	return nil
}

// inactive refuses a key pair that is in the file and not good at present: see missing.
func inactive(why string) error {
	return refuse(http.StatusForbidden, "InvalidAccessKeyId.Inactive", "Specified access key is disabled: "+why+".")
}

// lives refuses a key pair of a ServiceAccount that is gone.
func (f *Front) lives(ctx context.Context, key Key) error {
	namespace, name, ok := key.serviceAccount()
	if !ok {
		return nil
	}
	leave, err := f.lookups.enter(ctx, key.User)
	if err != nil {
		return err
	}
	defer leave()
	found, uid, err := f.cfg.Account(ctx, namespace, name)
	switch {
	case err != nil:
		return err
	case !found:
		return inactive("there is no ServiceAccount " + namespace + "/" + name + ", which its user is")
	case key.UID != "" && uid != "" && key.UID != uid:
		return inactive("its user is a ServiceAccount that is gone; there is another one of the same name")
	}
	return nil
}

// here refuses calls about another region, whose limits are others.
func (s *session) here(req *request) error {
	for name, value := range req.all() {
		if strings.EqualFold(name, "RegionId") && value != "" && value != s.cfg.Region {
			return refuse(http.StatusBadRequest, "RegionId.ApiNotSupported", "the gateway calls the cloud in "+s.cfg.Region+" only")
		}
	}
	return nil
}

// answer gives a session, or what the cloud says.
func (s *session) answer(ctx context.Context, c *call, work rpc.Work) (*openapi.Answer, error) {
	if c.request.exchange != nil {
		return s.give(c)
	}
	return s.pass(ctx, c, work)
}

// pass sends the call on, in time.
func (s *session) pass(ctx context.Context, c *call, work rpc.Work) (*openapi.Answer, error) {
	ctx, c.noted = rpc.WithTrail(ctx)
	ctx, cancel := context.WithTimeout(s.cfg.Context(ctx, c.key.User), c.key.Wait.Or(time.Duration(s.cfg.Wait)))
	defer cancel()
	writes := !flow.Reads(c.request.action)
	if s.minds(c.name) {
		if err := s.within(ctx, c.key.User, c.name, c.request); err != nil {
			return nil, err
		}
	}
	format := "JSON"
	if c.request.xml {
		format = "XML"
	}
	var full error // no room for the answer
	answer, changed, err := s.cfg.Cloud.Pass(ctx, openapi.Call{
		Product: c.product, Action: c.request.action, As: s.cfg.Counts(string(c.product), c.request.action), Format: format,
		Params: c.request.query, Form: c.request.form, Mutating: writes, Version: c.request.version,
		Method: c.request.method, Path: c.request.path, Body: c.request.body, ContentType: c.request.contentType,
	}, func(bytes int) error {
		full = work.Hold(bytes)
		return full
	})
	if full != nil && !changed { // Otherwise it has lost the answer to a change.
		err = because(reasonBytes, full)
	}
	c.changed = changed
	if changed {
		s.cfg.Forget(shownBy(string(c.product), c.request.action)...)
	}
	if kept, ok := errors.AsType[*openapi.Withheld](err); ok {
		s.kept.WithLabelValues(kept.Why).Inc()
		s.ours.Warn(s.cfg.Logger, "a tool does not get the answer to its call", "action", c.name, "reason", kept.Why, "error", err)
	}
	return answer, err
}

// refuse answers a call that did not come to the cloud, or to which the cloud has not answered. A tool whose change may
// have been made gets no answer, as from a cloud whose answer is lost: it knows what it does then.
func (s *session) refuse(w http.ResponseWriter, c *call, err error) {
	if rpcerr.ReasonOf(err) == rpcerr.OutcomeUnknown {
		s.calls.WithLabelValues("no_answer").Inc()
		s.audit(c, "no_answer", 0, err)
		panic(http.ErrAbortHandler)
	}
	answer := refusalOf(err)
	if answer.why != "" {
		s.throttled.WithLabelValues(answer.why).Inc()
	}
	s.calls.WithLabelValues(answer.code).Inc()
	s.audit(c, answer.code, answer.status, err)
	if rpcerr.ReasonOf(err) == rpcerr.NotActive {
		w.Header().Set("Connection", "close") // The next replica takes the next call.
	}
	answer.write(w, c.id, c.request.xml)
}

// audit leaves a line about every change that was tried, about reads that give keys or control, and about what was
// refused; with AuditReads about every call. The refusals of one caller leave so many lines, and so do those of all
// strangers together; what may have changed something always has its own.
func (s *session) audit(c *call, outcome string, status int, err error) {
	if err == nil && !s.minds(c.name) && !s.cfg.AuditReads {
		return
	}
	if err != nil && !c.changed && !s.audits.Take(c.key.User) {
		return
	}
	attrs := []any{"method", "openapi", "address", c.address, "outcome", outcome, "status", status, "duration",
		time.Since(c.begun), "requestId", c.id}
	attrs = append(attrs, "caller", c.key.User, "key", bounded(c.request.keyID), "action", c.name, "resource", resources(c.request))
	if c.request.path != "" {
		attrs = append(attrs, "path", bounded(c.request.path))
	}
	if s.minds(c.name) {
		attrs = append(attrs, "parameters", names(c.request))
	}
	if len(c.made) > 0 {
		attrs = append(attrs, "answered", c.made)
	}
	if c.noted != nil {
		attrs = append(attrs, c.noted()...)
	}
	if err != nil {
		attrs = append(attrs, "error", err.Error())
	}
	s.cfg.Logger.Info("audit", attrs...)
}

// names are those of the first parameters. Their values may be secrets, and what was changed can be looked up by the
// resource.
func names(req *request) []string {
	const most = 30
	all := slices.Sorted(maps.Keys(req.all()))
	for i := range all {
		all[i] = bounded(all[i])
	}
	return all[:min(most, len(all))]
}

// resources are the first parameters that name something.
func resources(req *request) []string {
	const most = 10
	var named []string
	params := req.all()
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if len(named) < most && (suspiciousName.MatchString(name) || strings.HasSuffix(name, "Name")) {
			named = append(named, bounded(name)+"="+bounded(params[name]))
		}
	}
	return named
}
