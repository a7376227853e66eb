<?php
// Installs WordPress and writes some posts with comments. Run with PHP's command line.
$_SERVER['HTTP_HOST'] = '127.0.0.1';
define('WP_INSTALLING', true);
require __DIR__ . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

wp_install('A site', 'writer', 'writer@example.com', true, '', wp_generate_password());
switch_theme('@THEME@');
$words = explode(' ', 'river stone paper window garden letter morning winter bridge candle');
for ($number = 0; $number < 20; $number++) {
    $text = '';
    for ($word = 0; $word < 120; $word++) {
        $text .= $words[($number * 7 + $word * $word) % count($words)] . ' ';
    }
    $post = wp_insert_post([
        'post_title' => "About {$words[$number % 10]} $number",
        'post_content' => $text,
        'post_status' => 'publish',
        'post_author' => 1,
    ], true);
    if (is_wp_error($post)) {
        fwrite(STDERR, $post->get_error_message() . "\n");
        exit(1);
    }
    for ($comment = 0; $comment < 5; $comment++) {
        wp_insert_comment(['comment_post_ID' => $post, 'comment_content' => $text]);
    }
    echo "post $post\n";
}
