'use strict';

// Where programs in the cloud get their keys from: the metadata service, STS by a token of the cluster or by other keys, a URI.

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const test = require('node:test');
require('./network');
const { default: Credential, Config } = require('@alicloud/credentials');
const $OpenApi = require('@alicloud/openapi-core');
const $Sts = require('@alicloud/sts20150401');

const { keys, region } = require('./account');

const role = 'acs:ram::1000000000000001:role/reader';

// arn is the identity of a caller that has such a credential.
async function arn(config) {
  const credential = new Credential(new Config(config));
  const client = new $Sts.default(new $OpenApi.$OpenApiUtil.Config({ credential, regionId: region }));
  return (await client.getCallerIdentity()).body.arn;
}

test('the role of the instance by the metadata service', async () => {
  for (const config of [{ disableIMDSv1: true }, { roleName: 'KubernetesWorkerRole', disableIMDSv1: true }]) {
    assert.match(await arn({ type: 'ecs_ram_role', ...config }), /:assumed-role\/[Kk]ubernetes[Ww]orker[Rr]ole\//);
  }
  await assert.rejects(arn({ type: 'ecs_ram_role', roleName: 'Other' }), /get sts token failed/);
});

test('keys at a URI', async () => {
  const credentialsURI = 'http://100.100.100.200/latest/meta-data/ram/security-credentials/KubernetesWorkerRole';
  assert.match(await arn({ type: 'credentials_uri', credentialsURI }), /:assumed-role\//);
});

test('a role by other keys', async () => {
  const config = { type: 'ram_role_arn', ...keys, roleArn: role, roleSessionName: 'session', roleSessionExpiration: 900 };
  assert.strictEqual(await arn(config), 'acs:ram::1000000000000001:assumed-role/reader/session');
  await assert.rejects(arn({ ...config, roleArn: 'wrong' }), /InvalidParameter.RoleArn/);
});

test('a role by a token of the cluster, unsigned', async (t) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'token-'));
  t.after(() => fs.rmSync(directory, { recursive: true }));
  const oidcTokenFilePath = path.join(directory, 'token');
  const write = (claims) => fs.writeFileSync(oidcTokenFilePath, [{ alg: 'RS256' }, claims, {}]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.'));
  const claims = {
    iss: 'https://oidc.example.com', sub: 'system:serviceaccount:kube-system:cloudgateway', aud: ['sts.aliyuncs.com'],
    exp: Math.floor(Date.now() / 1000) + 600,
  };
  const config = {
    type: 'oidc_role_arn', roleArn: role, roleSessionName: 'session', oidcTokenFilePath,
    oidcProviderArn: 'acs:ram::1000000000000001:oidc-provider/ack-rrsa-c-1',
  };
  write(claims);
  assert.strictEqual(await arn(config), 'acs:ram::1000000000000001:assumed-role/reader/session');
  write({ ...claims, exp: 1 });
  await assert.rejects(arn(config), /AuthenticationFail.OIDCToken.Expired/);
});
