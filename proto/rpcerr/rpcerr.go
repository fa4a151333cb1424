// Package rpcerr is the one place that makes and reads the details of gRPC statuses, so that all other code branches on a
// Reason and never on text.
package rpcerr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// Keys of ErrorInfo.metadata.
const (
	metadataAPI            = "api"
	metadataCloudCode      = "cloud_code"
	metadataCloudRequestID = "cloud_request_id"
	metadataUnsent         = "unsent"
)

// Error is a failed call with all that a caller may decide by. A gRPC handler returns it as it is; the client gets it back
// with From.
type Error struct {
	Code    codes.Code
	Reason  Reason
	Message string
	// RetryAfter is how long to wait before another attempt makes sense; 0 if waiting does not help or the time is not known.
	RetryAfter time.Duration
	// API is the cloud's action, e.g. "slb/CreateLoadBalancer"; empty if the cloud was not asked.
	API string
	// CloudCode is the cloud's own error code, e.g. "Throttling.User".
	CloudCode string
	// CloudRequestID is what Alibaba's support asks for.
	CloudRequestID string
	// Unsent reports that the cloud is as it was before the call: nothing that changes it was sent. Without it, that isn't known.
	Unsent bool
	// Fields are the arguments that are wrong, with InvalidField.
	Fields []FieldViolation
}

// FieldViolation names a wrong argument, e.g. "listener.port", and says what is wrong with it.
type FieldViolation struct{ Field, Description string }

// Invalid makes an INVALID_ARGUMENT error from the wrong arguments.
func Invalid(fields ...FieldViolation) *Error {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = f.Field + ": " + f.Description
	}
	return &Error{Code: codes.InvalidArgument, Reason: InvalidField, Message: strings.Join(texts, "; "), Fields: fields}
}

// Invalidf is Invalid about one argument.
func Invalidf(field, format string, args ...any) *Error {
	return Invalid(FieldViolation{Field: field, Description: fmt.Sprintf(format, args...)})
}

// Errorf makes an error of a call with the code that goes with the reason.
func Errorf(reason Reason, format string, args ...any) *Error {
	return &Error{Code: reason.Code(), Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// WithRetry adds how long to wait before another attempt.
func (e *Error) WithRetry(after time.Duration) *Error {
	e.RetryAfter = after
	return e
}

// WithAPI adds the cloud's action that the error is about.
func (e *Error) WithAPI(action string) *Error {
	e.API = action
	return e
}

// Error gives the message with everything that helps to look the failure up.
func (e *Error) Error() string {
	kind := string(e.Reason)
	if kind == "" {
		kind = e.code().String()
	}
	facts := []string{kind}
	for _, fact := range []string{e.API, e.CloudCode} {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
	if e.CloudRequestID != "" {
		facts = append(facts, "request "+e.CloudRequestID)
	}
	text := "(" + strings.Join(facts, ", ") + ")"
	if e.Message == "" {
		return text
	}
	return e.Message + " " + text
}

// code keeps a forgotten Code from turning a failure into a success on the wire.
func (e *Error) code() codes.Code {
	if e.Code == codes.OK {
		return codes.Unknown
	}
	return e.Code
}

// GRPCStatus lets the gRPC server send the error with its details.
func (e *Error) GRPCStatus() *status.Status {
	info := &errdetails.ErrorInfo{Reason: string(e.Reason), Domain: Domain, Metadata: map[string]string{}}
	for key, value := range map[string]string{
		metadataAPI: e.API, metadataCloudCode: e.CloudCode, metadataCloudRequestID: e.CloudRequestID,
	} {
		if value != "" {
			info.Metadata[key] = value
		}
	}
	if e.Unsent {
		info.Metadata[metadataUnsent] = "true"
	}
	details := []protoadapt.MessageV1{protoadapt.MessageV1Of(info)}
	if e.RetryAfter > 0 {
		details = append(details, protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}))
	}
	if len(e.Fields) > 0 {
		bad := &errdetails.BadRequest{}
		for _, f := range e.Fields {
			bad.FieldViolations = append(bad.FieldViolations,
				&errdetails.BadRequest_FieldViolation{Field: f.Field, Description: f.Description})
		}
		details = append(details, protoadapt.MessageV1Of(bad))
	}
	bare := status.New(e.code(), e.Message)
	full, err := bare.WithDetails(details...)
	if err != nil {
		// Only invalid UTF-8 of the cloud gets here; the code is worth more than the details.
		return bare
	}
	return full
}

// From finds the failed call in err: an *Error, or the status of a gRPC call, wrapped or not. The result has no Reason if
// the status was not made by the gateway, e.g. UNAVAILABLE of a broken connection. The text of the wrapping is kept in Message.
func From(err error) (*Error, bool) {
	e, wrapping, ok := find(err)
	if !ok || wrapping == "" {
		return e, ok
	}
	wrapped := *e
	wrapped.Message = wrapping + e.Message
	return &wrapped, true
}

// Cause identifies why a call failed, for comparing one attempt with the next: two errors with the same cause differ in texts such
// as request ids and ports at the most. Of an error that is no failed call it is the text.
func Cause(err error) string {
	e, wrapping, ok := find(err)
	if !ok {
		return err.Error()
	}
	facts := []string{wrapping, e.code().String(), string(e.Reason), e.API, e.CloudCode}
	for _, f := range e.Fields {
		facts = append(facts, f.Field, f.Description)
	}
	return strings.Join(facts, "\n")
}

// find gives the failed call in err, and the text that was put before it by wrapping.
func find(err error) (e *Error, wrapping string, ok bool) {
	var inner string
	if made, isError := errors.AsType[*Error](err); isError {
		e, inner = made, made.Error()
	} else {
		s, isStatus := errors.AsType[interface {
			error
			GRPCStatus() *status.Status
		}](err)
		if !isStatus || s.GRPCStatus().Code() == codes.OK {
			return nil, "", false
		}
		e, inner = fromStatus(s.GRPCStatus()), s.Error()
	}
	if before, cut := strings.CutSuffix(err.Error(), inner); cut {
		wrapping = before
	}
	return e, wrapping, true
}

func fromStatus(s *status.Status) *Error {
	e := &Error{Code: s.Code(), Message: s.Message()}
	for _, detail := range s.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() != Domain {
				continue
			}
			e.Reason = Reason(d.GetReason())
			e.API = d.GetMetadata()[metadataAPI]
			e.CloudCode = d.GetMetadata()[metadataCloudCode]
			e.CloudRequestID = d.GetMetadata()[metadataCloudRequestID]
			e.Unsent = d.GetMetadata()[metadataUnsent] == "true"
		case *errdetails.RetryInfo:
			e.RetryAfter = max(0, d.GetRetryDelay().AsDuration())
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, FieldViolation{Field: v.GetField(), Description: v.GetDescription()})
			}
		}
	}
	return e
}

// ReasonOf gives the reason of the failed call in err, "" if there is none.
func ReasonOf(err error) Reason {
	e, ok := From(err)
	if !ok {
		return ""
	}
	return e.Reason
}

// IsNotFound reports whether the gateway said that the resource does not exist. A NOT_FOUND of anything between, which carries
// no Reason, is no such evidence.
func IsNotFound(err error) bool {
	e, ok := From(err)
	return ok && e.Code == codes.NotFound && e.Reason != ""
}

// IsUnsent reports whether the gateway said that it sent nothing that changes the cloud.
func IsUnsent(err error) bool {
	e, ok := From(err)
	return ok && e.Unsent
}

// RetryAfter says how long the gateway asks to wait before another attempt.
func RetryAfter(err error) (time.Duration, bool) {
	e, ok := From(err)
	if !ok || e.RetryAfter <= 0 {
		return 0, false
	}
	return e.RetryAfter, true
}

// FromItem makes an error of one item's failure in a batch answer; nil for nil.
func FromItem(item *commonv1.ItemError) error {
	if item == nil {
		return nil
	}
	return &Error{
		Code:           itemCode(item.GetCode()),
		Reason:         Reason(item.GetReason()),
		Message:        item.GetMessage(),
		RetryAfter:     max(0, item.GetRetryAfter().AsDuration()),
		CloudCode:      item.GetCloudCode(),
		CloudRequestID: item.GetCloudRequestId(),
	}
}

// itemCode guards against codes this version does not know.
func itemCode(code int32) codes.Code {
	if code <= int32(codes.OK) || code > int32(codes.Unauthenticated) {
		return codes.Unknown
	}
	return codes.Code(code)
}

// ToItem makes one item's failure of a batch answer; nil for nil.
func ToItem(err error) *commonv1.ItemError {
	if err == nil {
		return nil
	}
	e, ok := From(err)
	if !ok {
		e = &Error{Code: codes.Internal, Reason: Internal, Message: err.Error()}
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			e.Code, e.Reason = status.FromContextError(err).Code(), ""
		}
	}
	item := &commonv1.ItemError{
		Code:           int32(e.code()),
		Reason:         string(e.Reason),
		Message:        e.Message,
		CloudCode:      e.CloudCode,
		CloudRequestId: e.CloudRequestID,
	}
	if e.RetryAfter > 0 {
		item.RetryAfter = durationpb.New(e.RetryAfter)
	}
	return item
}
