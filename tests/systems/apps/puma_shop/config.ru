# Orders: memcached first, then MariaDB through a pool that the threads share.
require 'dalli'
require 'mysql2'
require 'sinatra/base'

$stdout.sync = true

POOL = SizedQueue.new(3)
3.times do
  POOL << Mysql2::Client.new(host: '127.0.0.1', port: ENV['DATABASE'].to_i, username: 'shop',
                             password: 'secret', database: 'shop')
end
with_setup = POOL.pop
with_setup.query('CREATE TABLE IF NOT EXISTS payments (name TEXT, price INT)')
POOL << with_setup
CACHE = Dalli::Client.new("127.0.0.1:#{ENV['CACHE']}", threadsafe: true)

# The application.
class Shop < Sinatra::Base
  set :logging, false
  # A log of the requests, in a run that compares names with it.
  after { puts "access #{request.request_method} #{request.path} #{response.status}" if ENV['ACCESS_LOG'] }
  get '/order/:name' do
    name = params['name']
    known = CACHE.get("order:#{name}")
    return known if known
    connection = POOL.pop
    begin
      price = connection.query("SELECT 70 AS price /* #{name} */").first['price']
      connection.query("INSERT INTO payments (name, price) VALUES ('#{name}', #{price})")
    ensure
      POOL << connection
    end
    CACHE.set("order:#{name}", price.to_s)
    "#{name} costs #{price}"
  end
end

run Shop
