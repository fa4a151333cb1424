'use strict';

module.exports = {
  region: 'cn-hangzhou',
  keys: { accessKeyId: process.env.ACCESS_KEY_ID, accessKeySecret: process.env.ACCESS_KEY_SECRET },
};
