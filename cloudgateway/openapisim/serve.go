package openapisim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/documented"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/keys"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/wire"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// timestampWindow is how far the clocks of client and cloud may be apart.
const timestampWindow = 15 * time.Minute

// droppedCode stands in the journal for the code of an answer that was never sent.
const droppedCode = "ConnectionDropped"

// product serves the OpenAPI of one product.
type product struct {
	*Simulator
	*settling
	actions map[string]*action
	roa     bool // the path says what is called
}

func (s *Simulator) newProduct(p *settling) *product {
	actions := make(map[string]*action, len(p.Actions))
	for i := range p.Actions {
		actions[p.Actions[i].Name] = newAction(p.Name, &p.Actions[i])
	}
	return &product{Simulator: s, settling: p, actions: actions, roa: len(p.Actions) > 0 && p.Actions[0].Path != ""}
}

// exchange is one request on its way to an answer.
type exchange struct {
	id      string // RequestId
	host    string
	caller  string
	arrived time.Time
	request *wire.Request
	sent    map[string]string // the parameters as they were sent
	params  map[string]string // in the form in which handlers read them
	ignored []string          // parameters that come to nothing, though the cloud documents them
	action  *action           // nil if unknown
	key     keys.Key
	rule    *fault.Rule   // the fault that strikes, or nil
	wait    time.Duration // for the header x-acs-retry-after; 0: none
	takes   time.Duration // how long the write takes
	applied chan struct{} // closed when the write has taken its time, nil if it takes none
}

// strikes returns the fault if it strikes on this side of the effect.
func (x *exchange) strikes(when fault.When) *fault.Rule {
	if x.rule != nil && x.rule.When == when && !x.rule.Job {
		return x.rule
	}
	return nil
}

// ServeHTTP answers a request in the order of the cloud: parse, action, AccessKey, time, signature, nonce, throttling,
// parameters, business. Faults come after throttling: they strike only calls that the cloud would have let through.
func (p *product) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{id: wire.NewRequestID(), host: r.Host, caller: r.UserAgent(), arrived: p.realNow()}
	answer := p.answer(r, x)
	if x.applied != nil {
		select {
		case <-x.applied:
		case <-r.Context().Done():
		}
	}
	if rule := x.strikes(fault.After); rule != nil {
		pause(r.Context(), time.Duration(rule.Latency))
	}
	if x.rule != nil && x.rule.Drop {
		panic(http.ErrAbortHandler) // makes net/http close the connection
	}
	if x.wait > 0 {
		w.Header().Set("x-acs-retry-after", strconv.FormatInt(x.wait.Milliseconds()+1, 10))
	}
	p.tellLimit(w.Header(), x)
	answer.Write(w, x.id)
}

// tellLimit says what is left of the limit of the action, if answers are to say that.
func (p *product) tellLimit(header http.Header, x *exchange) {
	if !p.rateLimit.Load() || x.action == nil {
		return
	}
	if s, ok := p.limiter.State(p.Name, x.action.Name, p.clock.Now()); ok {
		header.Set("X-RateLimit-User-API", fmt.Sprintf("Limit:%d,Remain:%d,TimeLeft:%d,Reset:0", s.Limit, s.Remain, s.Left.Milliseconds()))
	}
}

func (p *product) answer(r *http.Request, x *exchange) wire.Answer {
	if err := p.admit(r, x); err != nil {
		return p.refuse(x, err)
	}
	rule := x.strikes(fault.Before)
	if rule == nil {
		return p.perform(x)
	}
	pause(r.Context(), time.Duration(rule.Latency))
	switch {
	case rule.Drop:
		p.record(x, 0, droppedCode, false)
		return wire.Answer{}
	case rule.Error != nil && len(rule.Item) == 0:
		return p.refuse(x, x.faultError())
	default:
		return p.perform(x)
	}
}

// admit takes a request to the point where the cloud would carry it out.
func (p *product) admit(r *http.Request, x *exchange) *api.Error {
	var err *api.Error
	x.request, err = wire.Parse(r)
	x.sent = x.request.Params()
	x.params = x.sent
	if err != nil {
		return err
	}
	if err := p.findAction(x); err != nil {
		return err
	}
	if anonymous := x.action.Unsigned && x.request.AccessKeyID == ""; !anonymous {
		if err := p.authenticate(x); err != nil {
			return err
		}
	}
	x.params = wire.Structured(x.action.Params, x.sent)
	x.ignored = x.action.ignored(x.params)
	now := p.clock.Now()
	if wait, ok := p.limiter.Allow(p.Name, x.action.Name, now); !ok {
		if p.retryAfter.Load() {
			x.wait = wait
		}
		if p.Throttled != nil {
			return p.Throttled
		}
		return api.BadRequest("Throttling", "Request was denied due to request throttling.")
	}
	x.rule = p.faults.Strike(fault.Call{Product: p.Name, Action: x.action.Name, Mutating: x.action.Mutating, Params: x.params}, now)
	return nil
}

func (p *product) findAction(x *exchange) *api.Error {
	req := x.request
	switch {
	case req.Action == "" && !p.roa:
		return api.Missing("Action")
	case req.Version == "":
		return api.Missing("Version")
	case req.Version != p.Version:
		return p.unknownVersion(req.Version)
	case p.roa:
		p.route(x)
	default:
		x.action = p.actions[req.Action]
	}
	if x.action == nil {
		where := "the product documents no such action"
		if slices.Contains(documented.Actions(p.Name), req.Action) {
			where = "it is not simulated, see docs/coverage.md#" + strings.ToLower(p.Code+"-"+p.Version)
		}
		return api.NotFound("InvalidAction.NotFound", "Specified api is not found, please check your url and method. (openapisim: %s)", where)
	}
	return nil
}

// route finds the action of a request in ROA style. What the request says of its name doesn't matter.
func (p *product) route(x *exchange) {
	for _, a := range p.actions {
		if params, ok := a.Match(x.request.Method, x.request.Path); ok {
			maps.Copy(params, x.sent)
			x.action, x.request.Action, x.sent, x.params = a, a.Name, params, params
		}
	}
}

// unknownVersion says which products there are when the version is none of theirs: who calls another product would look for his own
// mistake.
func (p *product) unknownVersion(version string) *api.Error {
	err := api.BadRequest("InvalidVersion", "Specified parameter Version is not valid.")
	var known []string
	for _, other := range p.products {
		if other.Version == version {
			return err
		}
		known = append(known, other.Code+" "+other.Version)
	}
	err.Message += " (openapisim: no product of the version " + version + " is simulated; there are " + strings.Join(known, ", ") + ")"
	return err
}

func (p *product) authenticate(x *exchange) *api.Error {
	req, now := x.request, p.realNow()
	if p.cfg.AnyCredentials {
		x.key, _ = p.keys.Lookup(req.AccessKeyID)
		x.key.ID = req.AccessKeyID
		return p.checkRights(x)
	}
	if err := req.CheckSystem(); err != nil {
		return err
	}
	key, ok := p.keys.Lookup(req.AccessKeyID)
	if !ok || key.Account != p.account {
		return api.NotFound("InvalidAccessKeyId.NotFound", "Specified access key is not found.")
	}
	if key.Disabled {
		return &api.Error{Status: http.StatusForbidden, Code: "InvalidAccessKeyId.Inactive", Message: "Specified access key is disabled."}
	}
	x.key = key
	if err := req.CheckTime(now, timestampWindow); err != nil {
		return err
	}
	if err := checkToken(key, req.SecurityToken, now); err != nil {
		return err
	}
	if err := req.CheckSignature(key.Secret); err != nil {
		return err
	}
	if req.Nonce != "" && !p.nonces.Use(key.ID, req.Nonce, now) {
		return api.BadRequest("SignatureNonceUsed", "Specified signature nonce was used already.")
	}
	return p.checkRights(x)
}

func (p *product) checkRights(x *exchange) *api.Error {
	if denied(x.key, p.Name, x.request.Action) {
		return forbidden(p.Name)
	}
	return nil
}

func checkToken(key keys.Key, token string, now time.Time) *api.Error {
	switch {
	case key.Session == nil && token == "":
		return nil
	case key.Session == nil:
		return api.BadRequest("InvalidSecurityToken.MismatchWithAccessKey", "Specified SecurityToken mismatch with the AccessKey.")
	case token == "":
		return api.BadRequest("MissingSecurityToken", "SecurityToken is mandatory for this action.")
	case token != key.Session.Token:
		return api.BadRequest("InvalidSecurityToken.Malformed", "Specified SecurityToken is malformed.")
	case !now.Before(key.Session.Expires):
		return api.BadRequest("InvalidSecurityToken.Expired", "Specified SecurityToken is expired.")
	}
	return nil
}

// perform carries out an admitted request. The journal is written under the same lock, so that its order is that of the
// effects.
func (p *product) perform(x *exchange) wire.Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	var answer wire.Answer
	unchanged := p.watch(x)
	result, err := p.handle(x)
	if x.action.Mutating {
		p.changes.Add(1)
		p.changed = true
		p.show(false)
	}
	if err == nil {
		var encodeErr error
		if answer, encodeErr = p.success(x, result); encodeErr != nil {
			p.log.Error("answer can't be encoded", "action", x.action.Name, "error", encodeErr)
			err = internalError()
		}
	}
	effect := err == nil && x.action.Mutating && !unchanged()
	if rule := x.strikes(fault.After); rule != nil {
		if rule.Drop {
			p.record(x, 0, droppedCode, effect)
			return wire.Answer{}
		}
		if rule.Error != nil {
			err = x.faultError()
		}
	}
	if err != nil {
		if answer = wire.FailureROA(err, x.id); !p.roa {
			answer = wire.Failure(err, p.Code, x.id, x.host, x.request.XML)
		}
		p.record(x, answer.Status, err.Code, effect)
		return answer
	}
	p.record(x, answer.Status, "", effect)
	return answer
}

func (p *product) success(x *exchange, result any) (wire.Answer, error) {
	if p.roa {
		return wire.Whole(result)
	}
	return wire.Success(x.action.Name, x.id, result, x.request.XML)
}

func (p *product) handle(x *exchange) (result any, err *api.Error) {
	defer func() {
		if reason := recover(); reason != nil {
			p.log.Error("handler panicked", "action", x.action.Name, "reason", reason, "stack", string(debug.Stack()))
			result, err = nil, internalError()
		}
	}()
	params := api.NewParams(x.params)
	settings := p.settings.Load()
	if len(x.ignored) > 0 && settings.Strict {
		return nil, notSimulated(x.action, x.ignored)
	}
	if err := wire.CheckParams(p.Malformed, x.action.Params, &params, settings); err != nil {
		return nil, err
	}
	if region := params.Get("RegionId"); region != "" && region != p.region {
		return nil, api.NotFound("InvalidRegionId.NotFound", "The specified RegionId does not exist.")
	}
	c := &api.Context{
		Params: params, State: p.cloud, Now: p.clock.Now(), Account: p.account, Region: p.region, Regions: p.regions,
		RequestID: x.id, AccessKeyID: x.key.ID, Settings: settings,
		Traffic: p.traffic, Count: p.count(), FailItem: x.failItem(), Job: x.jobFault(), Held: func(thing string) bool { return p.held[thing] },
	}
	p.settleDue(c)
	if c.State = p.visible(x); c.State != p.cloud && p.Settle != nil {
		p.Settle(c) // a past state is seen as it would be now
	}
	if result, err = x.action.Handle(c); err == nil && settings.WriteTime > 0 && len(c.Holds()) > 0 {
		x.takes, x.applied = settings.WriteTime, p.hold(c.Holds(), settings.WriteTime)
	}
	return result, err
}

// watch returns a function that reports whether a write that ignores parameters has changed nothing: what it was asked for may have been
// just that. Others are taken at their word, so that they cost nothing.
func (p *product) watch(x *exchange) (unchanged func() bool) {
	if len(x.ignored) == 0 || x.action.creates() {
		return func() bool { return false }
	}
	before, _ := json.Marshal(p.cloud) // what can't be written is different
	return func() bool {
		after, err := json.Marshal(p.cloud)
		return err == nil && bytes.Equal(before, after)
	}
}

// hold keeps others from changing things while a write is applied, whether its caller waits for the answer or not. The channel is
// closed at the end.
func (s *Simulator) hold(things []string, d time.Duration) chan struct{} {
	for _, thing := range things {
		s.held[thing] = true
	}
	applied := make(chan struct{})
	time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, thing := range things {
			delete(s.held, thing)
		}
		close(applied)
	})
	return applied
}

// visible is the state that a call sees. Faults show another one to reads.
func (p *product) visible(x *exchange) *state.Cloud {
	switch {
	case x.rule == nil:
		return p.cloud
	case x.rule.Empty:
		return state.New(p.region, p.account)
	case x.rule.Stale:
		return x.rule.Past()
	}
	return p.cloud
}

// failItem is how a fault strikes single items of a batch, or nil.
func (x *exchange) failItem() func(map[string]string) *api.Error {
	if x.rule == nil || len(x.rule.Item) == 0 {
		return nil
	}
	return func(item map[string]string) *api.Error {
		if x.rule.StrikesItem(item) {
			return x.faultError()
		}
		return nil
	}
}

// jobFault is what a fault does to the job that a call starts, or nil.
func (x *exchange) jobFault() *api.JobFault {
	if x.rule == nil || !x.rule.Job {
		return nil
	}
	f := &api.JobFault{Delay: time.Duration(x.rule.Latency)}
	if e := x.rule.Error; e != nil {
		f.Error = &api.Error{Status: e.Status, Code: e.Code, Message: e.Message}
	}
	return f
}

// refuse answers and records a request that had no effect.
func (p *product) refuse(x *exchange, err *api.Error) wire.Answer {
	answer := wire.Failure(err, p.Code, x.id, x.host, x.request.XML)
	p.record(x, answer.Status, err.Code, false)
	return answer
}

func (x *exchange) faultError() *api.Error {
	e := x.rule.Error
	x.wait = time.Duration(e.RetryAfter)
	return &api.Error{Status: e.Status, Code: e.Code, Message: e.Message}
}

func (p *product) record(x *exchange, status int, code string, effect bool) {
	latency := p.realNow().Sub(x.arrived) + x.takes // some of it is still to come
	call := journal.Call{
		Time: p.clock.Now(), Product: p.Name, Action: x.request.Action, Params: withoutSecrets(x.sent), Caller: x.caller,
		Status: status, Code: code, Mutating: x.action != nil && x.action.Mutating, Effect: effect,
		Ignored: x.ignored,
	}
	if x.rule != nil {
		call.Fault = x.rule.ID
		if x.rule.When == fault.After {
			latency += time.Duration(x.rule.Latency) // still to come
		}
	}
	call.Latency = float64(latency.Microseconds()) / 1000
	p.journal.Add(call)
}

// withoutSecrets keeps secrets out of the journal.
func withoutSecrets(params map[string]string) map[string]string {
	for name, value := range params {
		if secret(name, value) {
			rest := maps.Clone(params)
			maps.DeleteFunc(rest, secret)
			return rest
		}
	}
	return params
}

// secret reports whether a parameter is a token that stands for a person or a pod, the key of a certificate, or a password. A private key
// may also have come where a certificate was to.
func secret(name, value string) bool {
	return slices.Contains([]string{"oidctoken", "privatekey", "key", "password"}, strings.ToLower(name)) ||
		strings.Contains(value, "PRIVATE KEY-----")
}

func internalError() *api.Error {
	return &api.Error{
		Status: http.StatusInternalServerError, Code: "InternalError",
		Message: "The request processing has failed due to some unknown error, exception or failure.",
	}
}

// pause waits, unless the client goes away.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
