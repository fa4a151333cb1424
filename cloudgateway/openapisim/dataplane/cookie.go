package dataplane

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// token names a server in a cookie, without revealing to the client which it is.
func (id targetID) token() string {
	return strconv.FormatUint(id.hash(), 16)
}

// find returns the server to which a request's cookie binds its session, if it is one of targets.
func (s sticky) find(r *http.Request, targets []target, now time.Time) (target, bool) {
	if !s.on {
		return target{}, false
	}
	for _, cookie := range r.CookiesNamed(insertCookie) {
		token, rest, _ := strings.Cut(cookie.Value, "|")
		last, _, _ := strings.Cut(rest, "|")
		if seconds, err := strconv.ParseInt(last, 10, 64); s.idle > 0 && (err != nil || now.Sub(time.Unix(seconds, 0)) > s.idle) {
			continue
		}
		for _, t := range targets {
			if t.id.token() == token {
				return t, true
			}
		}
	}
	return target{}, false
}

// bind makes an answer bind the session to its server, by a cookie server|last request|first request.
func (s sticky) bind(answer *http.Response, request *http.Request, id targetID, now time.Time) {
	if !s.on {
		return
	}
	stamp := strconv.FormatInt(now.Unix(), 10)
	first := stamp
	if c, err := request.Cookie(insertCookie); err == nil && strings.HasPrefix(c.Value, id.token()+"|") {
		first = c.Value[strings.LastIndexByte(c.Value, '|')+1:]
	}
	answer.Header.Add("Set-Cookie", insertCookie+"="+id.token()+"|"+stamp+"|"+first+";Path=/")
}
