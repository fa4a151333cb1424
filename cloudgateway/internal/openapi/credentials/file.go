package credentials

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// Files is a Source that reads a long-lived AccessKey from two files, as a mounted Secret has them.
type Files struct {
	IDFile, SecretFile string
}

// Name of the source.
func (Files) Name() string { return "access_key_files" }

// Fetch reads both files; surrounding white space does not count. It reads again what was replaced in the meantime, since the id
// of one key does not go with the secret of another.
func (f Files) Fetch(ctx context.Context) (Credentials, error) {
	for {
		id, idErr := readWord(f.IDFile)
		secret, secretErr := readWord(f.SecretFile)
		if err := errors.Join(idErr, secretErr, ctx.Err()); err != nil {
			return Credentials{}, fmt.Errorf("read the AccessKey: %w", err)
		}
		if again, err := readWord(f.IDFile); err == nil && again == id {
			return Credentials{AccessKeyID: id, AccessKeySecret: secret}, nil
		}
	}
}

func readWord(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	word := strings.TrimSpace(string(data))
	if word == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return word, nil
}

// Environment is a Source that reads an AccessKey from environment variables, a long-lived one or a temporary one with its token.
type Environment struct{}

// Name of the source.
func (Environment) Name() string { return "environment" }

// Fetch takes the first pair of variables of which both are set.
func (Environment) Fetch(context.Context) (Credentials, error) {
	for _, prefix := range []string{"", "ALIBABA_CLOUD_"} {
		id, secret := os.Getenv(prefix+"ACCESS_KEY_ID"), os.Getenv(prefix+"ACCESS_KEY_SECRET")
		if id != "" && secret != "" {
			return Credentials{AccessKeyID: id, AccessKeySecret: secret, SecurityToken: os.Getenv(prefix + "SECURITY_TOKEN")}, nil
		}
	}
	return Credentials{},
		errors.New("set ACCESS_KEY_ID and ACCESS_KEY_SECRET, or ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET")
}

// Fixed are credentials for which there are no newer ones, e.g. for a single call.
type Fixed struct{ Credentials }

// Current gives them.
func (f Fixed) Current() (Credentials, error) { return f.Credentials, nil }

// Renew has nothing to offer.
func (Fixed) Renew(context.Context, Credentials) bool { return false }

// TokenFile is a Source of temporary credentials that another program keeps fresh in a file, as the JSON document that the
// metadata service and STS use.
type TokenFile struct{ Path string }

// Name of the source.
func (TokenFile) Name() string { return "sts_token_file" }

// Fetch reads the file.
func (f TokenFile) Fetch(context.Context) (Credentials, error) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return Credentials{}, fmt.Errorf("read the STS token file: %w", err)
	}
	return parseTemporary("STS token file "+f.Path, data)
}

// parseTemporary reads AccessKeyId, AccessKeySecret, SecurityToken and Expiration.
func parseTemporary(what string, document []byte) (Credentials, error) {
	var answer struct {
		Code string
		Credentials
	}
	// The decoder's error could quote the document, and with it a secret.
	if json.Unmarshal(document, &answer) != nil {
		return Credentials{}, fmt.Errorf("the %s: not the JSON document that was expected", what)
	}
	if answer.Code != "" && answer.Code != "Success" {
		return Credentials{}, fmt.Errorf("the %s: its code is %s", what, answer.Code)
	}
	if answer.SecurityToken == "" || answer.Expires.IsZero() {
		return Credentials{}, fmt.Errorf("the %s: SecurityToken or Expiration is missing", what)
	}
	return answer.Credentials, nil
}

// AddonTokenFile is a Source of the temporary credentials that Container Service (ACK) gives to the add-ons of a managed
// cluster, by default in /var/addon/token-config. It replaces the file before they end.
type AddonTokenFile struct{ Path string }

// Name of the source.
func (AddonTokenFile) Name() string { return "addon_token_file" }

// Fetch reads the file and deciphers it.
func (f AddonTokenFile) Fetch(context.Context) (Credentials, error) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return Credentials{}, fmt.Errorf("read the ACK addon token file: %w", err)
	}
	c, err := parseAddonToken(data)
	if err != nil {
		return Credentials{}, fmt.Errorf("the ACK addon token file %s: %w", f.Path, err)
	}
	return c, nil
}

func parseAddonToken(data []byte) (Credentials, error) {
	var sealed struct {
		AccessKeyID     string `json:"access.key.id"`
		AccessKeySecret string `json:"access.key.secret"`
		SecurityToken   string `json:"security.token"`
		Expiration      string `json:"expiration"`
		Keyring         string `json:"keyring"`
	}
	if json.Unmarshal(data, &sealed) != nil {
		return Credentials{}, errors.New("it is not the JSON document that was expected")
	}
	expires, err := time.Parse(time.RFC3339, sealed.Expiration)
	if err != nil {
		return Credentials{}, errors.New("expiration is not a time of the form 2006-01-02T15:04:05Z")
	}
	block, err := aes.NewCipher([]byte(sealed.Keyring))
	if err != nil {
		return Credentials{}, fmt.Errorf("keyring has %d bytes, want 16, 24 or 32", len(sealed.Keyring))
	}
	c := Credentials{Expires: expires}
	for _, field := range []struct {
		key, sealed string
		open        *string
	}{
		{"access.key.id", sealed.AccessKeyID, &c.AccessKeyID},
		{"access.key.secret", sealed.AccessKeySecret, &c.AccessKeySecret},
		{"security.token", sealed.SecurityToken, &c.SecurityToken},
	} {
		if *field.open, err = decipher(block, field.sealed); err != nil {
			return Credentials{}, fmt.Errorf("%s: %w", field.key, err)
		}
	}
	return c, nil
}

// decipher opens a value: base64 of an initial block and AES-CBC text, padded as PKCS #5 says.
func decipher(block cipher.Block, sealed string) (string, error) {
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errors.New("it is not base64")
	}
	size := block.BlockSize()
	if len(data) < 2*size || len(data)%size != 0 {
		return "", fmt.Errorf("it has %d bytes, want a multiple of %d and at least %d", len(data), size, 2*size)
	}
	text := data[size:]
	cipher.NewCBCDecrypter(block, data[:size]).CryptBlocks(text, text)
	padding := int(text[len(text)-1])
	if padding < 1 || padding > size {
		return "", errors.New("keyring does not fit")
	}
	return string(text[:len(text)-padding]), nil
}
