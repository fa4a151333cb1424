package wire

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// NewRequestID returns an id as the cloud makes them, an upper-case UUID.
func NewRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	id := make([]byte, 0, 2*len(b)+4)
	for i, part := range [][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			id = append(id, '-')
		}
		id = hex.AppendEncode(id, part)
	}
	return string(bytes.ToUpper(id))
}

// Answer is an encoded answer.
type Answer struct {
	Status int
	Body   []byte
	XML    bool
	Text   bool // neither JSON nor XML
}

// Whole encodes the result of an action in ROA style, which is all of its answer.
func Whole(result any) (Answer, error) {
	if text, ok := result.(string); ok {
		return Answer{Status: http.StatusOK, Body: []byte(text), Text: true}, nil
	}
	body, err := json.Marshal(result)
	return Answer{Status: http.StatusOK, Body: body}, err
}

// FailureROA encodes an error of an action in ROA style. What refuses a request before its action answers as [Failure].
func FailureROA(err *api.Error, requestID string) Answer {
	body, _ := json.Marshal(api.Object{ // nothing but strings and a number
		"code", err.Code, "message", err.Message, "requestId", requestID, "status", err.Status,
	})
	return Answer{Status: err.Status, Body: body}
}

// Success encodes the result of an action with the id of the request. The result must be a JSON object or nil.
func Success(action, requestID string, result any, asXML bool) (Answer, error) {
	body := append((*buffers.Get().(*[]byte))[:0], `{"RequestId":"`...)
	body = append(append(body, requestID...), `"}`...)
	switch large, ok := result.(largeResult); {
	case ok:
		end := len(body) - 1
		if body = large.AppendJSON(body[:end]); body[end+1] == '}' {
			return finish(action, append(body[:end], '}'), asXML) // nothing but the RequestId
		}
		body[end] = ',' // instead of its opening brace
	case result != nil:
		object, err := json.Marshal(result)
		if err != nil {
			return Answer{}, fmt.Errorf("encode the result of %s: %w", action, err)
		}
		if members, ok := bytes.CutPrefix(object, []byte("{")); ok && len(members) > 1 {
			body = append(append(body[:len(body)-1], ','), members...)
		}
	}
	return finish(action, body, asXML)
}

func finish(action string, body []byte, asXML bool) (Answer, error) {
	if !asXML {
		return Answer{Status: http.StatusOK, Body: body}, nil
	}
	converted, err := toXML(action+"Response", body)
	return Answer{Status: http.StatusOK, Body: converted, XML: true}, err
}

// buffers are those of answers that were sent. Answers of a hundred kilobytes would keep the garbage collector busy.
//
//nolint:gochecknoglobals // a pool is one for all
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// largeResult is a result that encodes itself as a JSON object: reflection would take most of the time of its call.
type largeResult interface{ AppendJSON([]byte) []byte }

// errorBody is what the cloud answers. Clients insist on strings.
type errorBody struct {
	XMLName   xml.Name `json:"-" xml:"Error"`
	RequestID string   `json:"RequestId" xml:"RequestId"`
	HostID    string   `json:"HostId" xml:"HostId"`
	Code      string
	Message   string
	Recommend string
}

// Failure encodes an error.
func Failure(err *api.Error, product, requestID, host string, asXML bool) Answer {
	body := errorBody{
		RequestID: requestID, HostID: host, Code: err.Code, Message: err.Message,
		Recommend: "https://api.aliyun.com/troubleshoot?q=" + percentEncode(err.Code) + "&product=" +
			percentEncode(product) + "&requestId=" + requestID,
	}
	a := Answer{Status: err.Status, XML: asXML}
	if asXML { // nothing but strings: neither encoding can fail
		encoded, _ := xml.Marshal(body)
		a.Body = append([]byte(xmlHeader), encoded...)
		return a
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // the cloud writes the address of Recommend as it is
	_ = encoder.Encode(body)
	a.Body = bytes.TrimRight(text.Bytes(), "\n")
	return a
}

// Write sends the answer, which is of no use afterwards.
func (a Answer) Write(w http.ResponseWriter, requestID string) {
	contentType := "application/json;charset=utf-8"
	switch {
	case a.XML:
		contentType = "text/xml;charset=utf-8"
	case a.Text:
		contentType = "text/plain;charset=utf-8"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("x-acs-request-id", requestID)
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // an error is that the client is gone
	buffers.Put(&a.Body)
}

const xmlHeader = `<?xml version="1.0" encoding="UTF-8"?>`

// toXML turns a JSON object into XML: members become elements, and each item of an array an element with the name of the
// array. The order is kept.
func toXML(root string, object []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	var out bytes.Buffer
	out.WriteString(xmlHeader)
	if err := elementToXML(&out, decoder, root); err != nil {
		return nil, fmt.Errorf("encode %s as XML: %w", root, err)
	}
	return out.Bytes(), nil
}

func elementToXML(out *bytes.Buffer, decoder *json.Decoder, name string) error {
	token, err := decoder.Token()
	if err != nil {
		return err
	}
	if token == json.Delim('[') {
		for decoder.More() {
			if err := elementToXML(out, decoder, name); err != nil {
				return err
			}
		}
		_, err := decoder.Token() // ]
		return err
	}
	out.WriteString("<" + name + ">")
	switch value := token.(type) {
	case json.Delim: // {
		for decoder.More() {
			member, err := decoder.Token()
			if err != nil {
				return err
			}
			if err := elementToXML(out, decoder, fmt.Sprint(member)); err != nil {
				return err
			}
		}
		if _, err := decoder.Token(); err != nil { // }
			return err
		}
	case nil:
	default:
		if err := xml.EscapeText(out, []byte(fmt.Sprint(value))); err != nil {
			return err
		}
	}
	out.WriteString("</" + name + ">")
	return nil
}
