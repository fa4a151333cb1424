package rpc

import (
	"cmp"
	"time"
)

// Limits bound what callers cost the server. A zero value stands for its default. The defaults keep the process far below half a GiB,
// whatever clients do. They bound strangers, whose identity is not known, by the connection, and callers that may call
// by what they have under way.
type Limits struct {
	// Connections and ConnectionsPerCaller bound the connections. Whose connection it is shows its first permitted call.
	// Of a caller with too many, one that has been idle goes. Defaults 256 and 128.
	Connections, ConnectionsPerCaller int
	// Strangers bounds the connections on which no permitted call was made yet, and StrangersPerPeer those from one address.
	// Where there are too many, the oldest of the address with the most has to go. Defaults 128 and 32.
	Strangers, StrangersPerPeer int
	// Arrivals bounds the connections of one address that come to no permitted call: so many at once, and ArrivalsPerSecond after that.
	// Defaults 20 and 2. What is beyond ArrivalsBeyond, too, is closed before its handshake, which costs a hundred times as much.
	Arrivals, ArrivalsPerSecond float64
	// ArrivalsBeyond is how many connections a second are let in beyond that, of all addresses together, a fifth of it at once:
	// with Arrivals fewer than StrangersPerPeer, so that callers who come at once do not crowd each other out. Default 50.
	ArrivalsBeyond float64
	// StrangerBytes is how much is read from such a connection before it is closed. Default 256 KiB: a connection lives for ten
	// minutes, in which a handshake and health checks need a tenth of that.
	StrangerBytes int64
	// StrangerCalls is how many calls on such a connection are refused before it is closed. Default 100: headers that repeat take a
	// few bytes, so that StrangerBytes would let through 10 000.
	StrangerCalls int64
	// FirstCall is the time for the handshake and the headers of the first call. Default 10 s.
	FirstCall time.Duration
	// Streams bounds the calls on one connection. A client lets further ones wait. Default 256.
	Streams int
	// AdmittingPerCaller bounds the calls of one caller from their headers to the decision whether they may go on, and AdmittingPerStranger
	// those of one connection without a permitted call. The connections of what is beyond wait. Defaults 16 and 4.
	AdmittingPerCaller, AdmittingPerStranger int
	// ExemptPerConnection bounds the calls on one connection that need no token, health checks. Default 2: a client of
	// gRPC watches by one, and a probe makes one.
	ExemptPerConnection int
	// Request is the size of the largest request in bytes. Default 1 MiB, which holds 20 000 ids twice.
	Request int
	// Items is how many messages and elements of lists a request may have in all. Default 60 000: the gateway's lists have at most 20 000, and
	// a change of servers has three of them.
	Items int
	// Receive is the time from the headers of a permitted call to the end of its message. Default 10 s.
	Receive time.Duration
	// ReceivingPerCaller bounds the requests of one caller that are read, and its answers that are encoded, at the same time; others
	// wait. Default 12.
	ReceivingPerCaller int
	// Receiving bounds the requests that are read at the same time, of all callers. None may have more than is left for others. Default 42.
	Receiving int
	// Calls and CallsPerCaller bound the calls under way. Each has a stack and what gRPC keeps of it, some 25 KiB, and takes
	// callRoom of Bytes. A client with one connection has as many as Streams. Defaults 1152 and 384.
	Calls, CallsPerCaller int
	// Bytes and BytesPerCaller bound the memory of the requests and answers of the calls under way. Defaults 96 MiB and 32 MiB.
	Bytes, BytesPerCaller int
	// Send is the time from an answer to its last byte, and for any byte to be taken from the server. Default 30 s.
	Send time.Duration
}

func (l Limits) withDefaults() Limits {
	const kib, mib = 1 << 10, 1 << 20
	return Limits{
		Connections: cmp.Or(l.Connections, 256), ConnectionsPerCaller: cmp.Or(l.ConnectionsPerCaller, 128),
		Strangers: cmp.Or(l.Strangers, 128), StrangersPerPeer: cmp.Or(l.StrangersPerPeer, 32),
		Arrivals: cmp.Or(l.Arrivals, 20), ArrivalsPerSecond: cmp.Or(l.ArrivalsPerSecond, 2),
		ArrivalsBeyond: cmp.Or(l.ArrivalsBeyond, 50),
		StrangerBytes:  cmp.Or(l.StrangerBytes, 256*kib), StrangerCalls: cmp.Or(l.StrangerCalls, 100),
		FirstCall:          cmp.Or(l.FirstCall, 10*time.Second),
		Streams:            cmp.Or(l.Streams, 256),
		AdmittingPerCaller: cmp.Or(l.AdmittingPerCaller, 16), AdmittingPerStranger: cmp.Or(l.AdmittingPerStranger, 4),
		ExemptPerConnection: cmp.Or(l.ExemptPerConnection, 2),
		Request:             cmp.Or(l.Request, mib), Items: cmp.Or(l.Items, 60_000), Receive: cmp.Or(l.Receive, 10*time.Second),
		ReceivingPerCaller: cmp.Or(l.ReceivingPerCaller, 12), Receiving: cmp.Or(l.Receiving, 42),
		Calls: cmp.Or(l.Calls, 1152), CallsPerCaller: cmp.Or(l.CallsPerCaller, 384),
		Bytes: cmp.Or(l.Bytes, 96*mib), BytesPerCaller: cmp.Or(l.BytesPerCaller, 32*mib),
		Send: cmp.Or(l.Send, 30*time.Second),
	}
}
