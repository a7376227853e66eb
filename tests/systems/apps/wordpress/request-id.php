<?php
/*
Plugin Name: Request id
Description: Puts the id of the request into each query, and keeps what a page needs in memcached.
*/

function request_id() {
    return preg_replace('/[^a-z0-9]/', '', $_SERVER['HTTP_X_REQUEST_ID'] ?? '');
}

add_filter('query', function ($query) {
    return request_id() === '' ? $query : $query . ' /* ' . request_id() . ' */';
});

function page_cache() {
    static $cache = null;
    if ($cache === null) {
        $cache = new Memcached();
        $cache->addServer('127.0.0.1', MEMCACHED_PORT);
    }
    return $cache;
}

// The visitor's earlier pages decide the greeting; the key contains the id to make it visible.
add_action('wp', function () {
    if (request_id() !== '') {
        page_cache()->get('visitor:' . request_id());
    }
});

// Each post of a page is looked up in the cache, and stored if it is missing.
add_filter('the_content', function ($content) {
    if (request_id() === '') {
        return $content;
    }
    $key = 'post:' . get_the_ID() . ':' . request_id();
    if (page_cache()->get($key) === false) {
        page_cache()->set($key, $content, 60);
    }
    return $content;
});

add_action('shutdown', function () {
    if (request_id() !== '') {
        page_cache()->set('visitor:' . request_id(), time(), 60);
    }
});
