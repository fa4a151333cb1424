package gatewayapi

// Decode reads objects from YAML.
var Decode = decode
