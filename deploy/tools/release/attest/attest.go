// Package attest signs what is released, in the form that cosign reads: a bundle of sigstore with a signature by a key
// pair, without a log and without a time. The same key and the same bytes give the same bundle.
package attest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// BundleType is the media type of what Sign and Attest return.
const BundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// Predicates by their types.
const (
	Provenance = "https://slsa.dev/provenance/v1"
	Signature  = "https://sigstore.dev/cosign/sign/v1"
)

// statementType and payloadType are those of in-toto.
const (
	statementType = "https://in-toto.io/Statement/v1"
	payloadType   = "application/vnd.in-toto+json"
)

// Key signs.
type Key struct {
	private *ecdsa.PrivateKey
	public  []byte // DER
}

// ReadKey reads a private key of the curve P-256 that is not encrypted, as openssl writes it.
func ReadKey(path string) (Key, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Key{}, fmt.Errorf("read the key: %w", err)
	}
	var key any
	for block, rest := pem.Decode(text); block != nil && key == nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		}
		if err != nil {
			return Key{}, fmt.Errorf("read the key %s: %w", path, err)
		}
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return Key{}, fmt.Errorf("%s has no key of the curve P-256 that is not encrypted; this makes one: "+
			"openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out %s", path, path)
	}
	public, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return Key{}, fmt.Errorf("read the key %s: %w", path, err)
	}
	return Key{private: private, public: public}, nil
}

// Public is the key that others verify with.
func (k Key) Public() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: k.public})
}

// bundle is sigstore's. One of the two last fields is there.
type bundle struct {
	MediaType    string        `json:"mediaType"`
	Verification verification  `json:"verificationMaterial"`
	Message      *message      `json:"messageSignature,omitempty"`
	Envelope     *dsseEnvelope `json:"dsseEnvelope,omitempty"`
}

type verification struct {
	PublicKey struct {
		Hint string `json:"hint"`
	} `json:"publicKey"`
}

type message struct {
	Digest struct {
		Algorithm string `json:"algorithm"`
		Digest    []byte `json:"digest"`
	} `json:"messageDigest"`
	Signature []byte `json:"signature"`
}

// dsseEnvelope is a statement with its signature.
type dsseEnvelope struct {
	Payload     []byte          `json:"payload"`
	PayloadType string          `json:"payloadType"`
	Signatures  []dsseSignature `json:"signatures"`
}

type dsseSignature struct {
	Sig []byte `json:"sig"`
}

// Sign returns the bundle of a file.
func (k Key) Sign(file []byte) ([]byte, error) {
	b := k.bundle()
	digest := sha256.Sum256(file)
	b.Message = &message{}
	b.Message.Digest.Algorithm, b.Message.Digest.Digest = "SHA2_256", digest[:]
	var err error
	if b.Message.Signature, err = k.sign(file); err != nil {
		return nil, err
	}
	return encode(b)
}

// Attest returns the bundle of a statement.
func (k Key) Attest(statement []byte) ([]byte, error) {
	signed := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(statement), statement)
	signature, err := k.sign(signed)
	if err != nil {
		return nil, err
	}
	b := k.bundle()
	b.Envelope = &dsseEnvelope{Payload: statement, PayloadType: payloadType, Signatures: []dsseSignature{{Sig: signature}}}
	return encode(b)
}

func (k Key) bundle() bundle {
	hint := sha256.Sum256(k.public)
	b := bundle{MediaType: BundleType}
	b.Verification.PublicKey.Hint = base64.StdEncoding.EncodeToString(hint[:])
	return b
}

// sign makes the signature out of the key and the bytes alone (RFC 6979).
func (k Key) sign(text []byte) ([]byte, error) {
	digest := sha256.Sum256(text)
	signature, err := k.private.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return signature, nil
}

func encode(b bundle) ([]byte, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return nil, fmt.Errorf("write the signature: %w", err)
	}
	return append(text, '\n'), nil
}

// Subject is a thing about which something is stated.
type Subject struct {
	Name   string            `json:"name,omitempty"`
	Digest map[string]string `json:"digest"`
}

// Statement is one of in-toto about its subjects.
type Statement struct {
	Type          string          `json:"_type"`
	Subject       []Subject       `json:"subject"`
	PredicateType string          `json:"predicateType"`
	Predicate     json.RawMessage `json:"predicate"`
}

// State makes a statement. The predicate is what is stated.
func State(predicateType string, predicate any, subjects ...Subject) ([]byte, error) {
	text, err := json.Marshal(predicate)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	statement, err := json.MarshalIndent(
		Statement{Type: statementType, Subject: subjects, PredicateType: predicateType, Predicate: text}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	return append(statement, '\n'), nil
}

// Read reads a statement with a predicate of the type.
func Read(text []byte, predicateType string, predicate any) (Statement, error) {
	var s Statement
	err := json.Unmarshal(text, &s)
	switch {
	case err != nil:
	case s.Type != statementType || s.PredicateType != predicateType:
		err = errors.New("it is a " + s.Type + " with a " + s.PredicateType)
	default:
		err = json.Unmarshal(s.Predicate, predicate)
	}
	if err != nil {
		return s, fmt.Errorf("read the statement: %w", err)
	}
	return s, nil
}
