<?php
// WordPress's settings for a run. @NAME@ is filled in when the run starts.
define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', '@PASSWORD@');
define('DB_HOST', '127.0.0.1:@MARIADB@');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_HOME', 'http://127.0.0.1:@ENTRY@');
define('WP_SITEURL', 'http://127.0.0.1:@ENTRY@');
define('MEMCACHED_PORT', @MEMCACHED@);
// All traffic stays on this machine, and nothing runs without a request.
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
    define("{$name}_KEY", '@PASSWORD@');
    define("{$name}_SALT", '@PASSWORD@');
}
$table_prefix = 'wp_';
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/');
}
require_once ABSPATH . 'wp-settings.php';
